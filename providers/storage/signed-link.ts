import type { FileLinks, LinkReader, StoredFile } from '#domain/messages/attachment.ts';
import type { Signer } from '../signer.ts';

/** Links to stored files that require no other credential. */
export interface SignedLinks extends FileLinks, LinkReader {
  /** Whether the signature is valid and has not expired. @param expires Unix seconds, as in the link. */
  verify(file: StoredFile, link: { expires: string; signature: string }, now: Date): boolean;
}

export function createSignedLinks(publicUrl: string, signer: Signer): SignedLinks {
  const raw = ({ workspaceId, attachmentId, name }: StoredFile): string =>
    `${publicUrl}/attachments/${workspaceId}/${attachmentId}/${encodeURIComponent(name)}`;
  const parts = ({ workspaceId, attachmentId, name }: StoredFile, expires: string): string[] => [
    workspaceId,
    attachmentId,
    name,
    expires,
  ];
  const { origin, pathname } = new URL(publicUrl);
  const prefix = `${pathname.replace(/\/$/, '')}/attachments/`;
  const verify: SignedLinks['verify'] = (file, { expires, signature }, now) => {
    if (!/^\d{1,12}$/.test(expires) || !signer.verify('attachment', parts(file, expires), signature))
      return false;
    return Number(expires) * 1000 > now.getTime();
  };
  function name(link: string): { file: StoredFile; query: URLSearchParams } | null {
    const url = URL.parse(link);
    if (url?.origin !== origin || !url.pathname.startsWith(prefix)) return null;
    const segments = url.pathname.slice(prefix.length).split('/').map(decoded);
    const [workspaceId, attachmentId, fileName, ...rest] = segments;
    if (!workspaceId || !attachmentId || !fileName || rest.length > 0) return null;
    return { file: { workspaceId, attachmentId, name: fileName }, query: url.searchParams };
  }
  return {
    raw,
    openUnverified: (link) => name(link)?.file ?? null,
    open(link, now) {
      const found = name(link);
      if (!found) return null;
      const { file, query } = found;
      const credential = { expires: query.get('expires') ?? '', signature: query.get('signature') ?? '' };
      return verify(file, credential, now) ? file : null;
    },
    verify,
    sign(file, expiresAt) {
      const expires = String(Math.floor(expiresAt.getTime() / 1000));
      return `${raw(file)}?expires=${expires}&signature=${signer.sign('attachment', parts(file, expires))}`;
    },
  };
}

/** null if an escape sequence is malformed. */
function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
