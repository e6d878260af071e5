import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import ipaddr from 'ipaddr.js';

/** The records of a name, by type. `silent`: queries for the name get no answer. */
export interface DnsRecords {
  TXT?: string[];
  A?: string[];
  AAAA?: string[];
  MX?: string[];
  PTR?: string[];
  silent?: true;
}

export interface DnsServer {
  /** For `DNS_SERVERS`. */
  address: string;
  /** By name, in lower case. Tests may change them. */
  records: Map<string, DnsRecords>;
  stop(): Promise<void>;
}

/** The numbers of the types (RFC 1035, section 3.2.2). */
const TYPES: Record<number, Exclude<keyof DnsRecords, 'silent'>> = {
  1: 'A',
  12: 'PTR',
  15: 'MX',
  16: 'TXT',
  28: 'AAAA',
};
const HEADER_BYTES = 12;
const NO_SUCH_NAME = 3;

/** A name server over UDP (RFC 1035). */
export async function startDnsServer(): Promise<DnsServer> {
  const records = new Map<string, DnsRecords>();
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = questionOf(query);
    const known = records.get(name.toLowerCase());
    if (known?.silent) return;
    const kind = TYPES[type];
    const answers = ((kind && known?.[kind]) ?? []).map((value) => {
      const data = dataOf(kind as 'A', value);
      const head = Buffer.alloc(12);
      // A pointer to the name of the question.
      head.writeUInt16BE(0xc000 | HEADER_BYTES, 0);
      head.writeUInt16BE(type, 2);
      head.writeUInt16BE(1, 4);
      head.writeUInt16BE(data.length, 10);
      return Buffer.concat([head, data]);
    });
    const header = Buffer.from(query.subarray(0, HEADER_BYTES));
    header.writeUInt16BE(0x8580 | (known ? 0 : NO_SUCH_NAME), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(answers.length, 6);
    header.writeUInt32BE(0, 8);
    socket.send(Buffer.concat([header, query.subarray(HEADER_BYTES, end), ...answers]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    records,
    async stop() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function dataOf(type: (typeof TYPES)[number], value: string): Buffer {
  switch (type) {
    case 'A':
    case 'AAAA':
      return Buffer.from(ipaddr.parse(value).toByteArray());
    case 'PTR':
      return nameBytes(value);
    case 'MX':
      return Buffer.concat([Buffer.from([0, 10]), nameBytes(value)]);
    case 'TXT':
      return Buffer.concat(
        (value.match(/.{1,255}/gs) ?? ['']).map((part) => Buffer.from([part.length, ...Buffer.from(part)])),
      );
  }
}

const nameBytes = (name: string): Buffer =>
  Buffer.concat([
    ...name
      .split('.')
      .filter(Boolean)
      .map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.from([0]),
  ]);
