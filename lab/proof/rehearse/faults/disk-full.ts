import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../../bench/support/waiting.ts';
import { connected } from '../../../../db/connection/connected.ts';
import type { Fault, Scene } from '../fault.ts';

const FULL_MS = 30_000;
const CONTACT = '+14155559000';
const FILES = 2;
const PICTURE = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
  Buffer.alloc(64 * 1024),
]);

export const diskFull: Fault = {
  name: 'disk',
  text: 'The disk of attachments, a tmpfs of its own, is full while files are uploaded and a contact sends some',
  seconds: 180,
  alerts: [],
  async run(scene) {
    const { installation, tenants, say } = scene;
    const { disk, carriers } = installation;
    const [tenant] = tenants;
    if (!tenant) throw new Error('there is no tenant');
    const filler = join(disk.folder, 'filler');
    fill(filler);
    say('the disk is full');
    const refused = await upload(scene);
    if (refused < 500) throw new Error(`an upload to the full disk was answered ${refused}`);
    await carriers.writeIn(tenant.lineIds[0] ?? '', CONTACT, 'With pictures', FILES);
    await pause(FULL_MS);
    const before = await countStored(scene);
    rmSync(filler);
    say('the disk has room again');
    const accepted = await upload(scene);
    if (accepted !== 200) throw new Error(`an upload with room was answered ${accepted}`);
    const at = performance.now();
    await until(async () => (await countStored(scene)) === FILES, 600_000);
    const seconds = ((performance.now() - at) / 1000).toFixed(0);
    return `An upload was answered ${refused} while it was full, and 200 with room. Of ${FILES} files of a contact ${before} were stored while it was full, and all ${seconds} s after there was room. Messages without files were sent all the time.`;
  },
};

/** Larger first, so that nothing fits any more. */
function fill(file: string): void {
  for (const size of [1024 * 1024, 4096, 1])
    try {
      for (;;) writeFileSync(file, Buffer.alloc(size), { flag: 'a' });
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ENOSPC') throw error;
    }
}

async function upload({ installation: { publicUrl }, tenants }: Scene): Promise<number> {
  const form = new FormData();
  form.append('file', new Blob([PICTURE]), 'picture.png');
  const headers = { authorization: `Bearer ${tenants[0]?.key ?? ''}` };
  const response = await fetch(`${publicUrl}/api/attachments/upload`, {
    method: 'POST',
    headers,
    body: form,
  });
  await response.arrayBuffer();
  return response.status;
}

async function countStored({ installation: { database }, tenants }: Scene): Promise<number> {
  return connected(database.ownerUrl, async (client) => {
    const { rowCount } = await client.query(
      `select from attachments where workspace_id = $1 and inbound_message_id is not null and status = 'stored'`,
      [tenants[0]?.id],
    );
    return rowCount ?? 0;
  });
}
