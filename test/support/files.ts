import type { TestApp } from './app.ts';
import type { ApiResponse } from './client.ts';

export interface UploadedFile {
  name: string;
  content: Buffer | string;
  /** '' for a client that sends none. */
  type?: string;
}

/** Uploads a file. */
export async function upload(
  app: TestApp,
  credential: string,
  { name, content, type = '' }: UploadedFile,
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(Buffer.from(content))], { type }), name);
  const response = await fetch(`${app.url}/api/attachments/upload`, {
    method: 'POST',
    headers: { ...(credential !== '' && { authorization: `Bearer ${credential}` }), ...headers },
    body: form,
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** @returns the link of an uploaded file. */
export async function uploaded(app: TestApp, credential: string, file: UploadedFile): Promise<string> {
  const { status, body } = await upload(app, credential, file);
  if (status !== 200) throw new Error(`the upload failed with ${status}: ${JSON.stringify(body)}`);
  return body.url as string;
}

/** A picture of one pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** Uncompressed mono audio: a tone. */
export function wav(seconds: number, sampleRate = 8000): Buffer {
  const samples = Buffer.alloc(seconds * sampleRate * 2);
  for (let at = 0; at < samples.length / 2; at += 1) {
    samples.writeInt16LE(Math.round(8000 * Math.sin((2 * Math.PI * 440 * at) / sampleRate)), at * 2);
  }
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.length, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE(sampleRate * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.length, 40);
  return Buffer.concat([header, samples]);
}
