import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { readUpload } from './upload.ts';

describe.each(['text/csv', 'multipart/form-data; boundary=x'])('a file in %s', (type) => {
  const receive = (raw: IncomingMessage) =>
    readUpload(raw, { bodyType: 'text/csv', limit: 10 }, ({ content }) => text(content));
  const request = (): IncomingMessage => {
    const raw = new IncomingMessage(new Socket());
    raw.headers['content-type'] = type;
    return raw;
  };

  it('is incomplete if its sender disconnected before it is read', async () => {
    const raw = request();
    raw.destroy();
    await once(raw, 'close');
    await expect(receive(raw)).rejects.toMatchObject({ code: 'INCOMPLETE_BODY' });
  });

  it('is incomplete if its sender sends everything and disconnects before it has been read', async () => {
    const raw = request();
    const received = receive(raw);
    raw.complete = true;
    raw.destroy();
    await expect(received).rejects.toMatchObject({ code: 'INCOMPLETE_BODY' });
  });
});
