import { Busy } from '#domain/base/fair-queue.ts';

/** What one file has received. */
interface OfFile {
  /** @throws Busy if its workspace, or the process, would have received too much. */
  add(bytes: number): void;
  /** The file is stored, or was refused. */
  release(): void;
}

/**
 * Counts the bytes of files that have been received and are not stored yet, so that they fit the temporary folder.
 * @param most in bytes, of all workspaces together and of each.
 */
export function createReceivedBytes(most: { inAll: number; workspace: number }): {
  ofFile(workspaceId: string): OfFile;
} {
  const byWorkspace = new Map<string, number>();
  let inAll = 0;

  function change(workspaceId: string, bytes: number): void {
    inAll += bytes;
    const own = (byWorkspace.get(workspaceId) ?? 0) + bytes;
    if (own === 0) byWorkspace.delete(workspaceId);
    else byWorkspace.set(workspaceId, own);
  }

  return {
    ofFile(workspaceId) {
      let received = 0;
      return {
        add(bytes) {
          const own = byWorkspace.get(workspaceId) ?? 0;
          if (inAll + bytes > most.inAll || own + bytes > most.workspace)
            throw new Busy('too many bytes of files are being received');
          change(workspaceId, bytes);
          received += bytes;
        },
        release() {
          change(workspaceId, -received);
          received = 0;
        },
      };
    },
  };
}
