import { createInterface } from 'node:readline';
import { Command } from 'commander';
import { objectOf, parseJson } from '../json.ts';
import { globalOptions } from '../output.ts';
import { type Credentials, credentials } from '../profiles.ts';

/** A message of JSON-RPC 2.0. */
interface Message {
  id?: string | number;
  method?: string;
  params?: { name?: unknown; uri?: unknown; _meta?: Record<string, unknown> };
}

export const mcp = (): Command =>
  new Command('mcp')
    .description(
      'Offer the tools of the server to an AI assistant, by the Model Context Protocol over stdio.',
    )
    .action(async (_options, command: Command) => {
      const account = await credentials(globalOptions(command).profile);
      const underWay = new Set<Promise<void>>();
      for await (const line of createInterface({ input: process.stdin })) {
        if (line.trim() === '') continue;
        const answering: Promise<void> = forward(line, account).then((answer) => {
          underWay.delete(answering);
          if (answer !== null) process.stdout.write(`${answer}\n`);
        });
        underWay.add(answering);
      }
      await Promise.all(underWay);
    });

/** @returns the server's answer, on one line; null: none is due. */
async function forward(line: string, { url, apiKey }: Credentials): Promise<string | null> {
  const message = parsed(line);
  if (!message) return failure(null, -32_700, 'Parse error: the line is not a JSON object');
  const { id = null } = message;
  try {
    const response = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${apiKey}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...protocolHeaders(message),
      },
      body: line,
    });
    const answer = await response.text();
    if (id === null || message.method === undefined) return null;
    const body = parsed(answer);
    if (body && 'jsonrpc' in body) return JSON.stringify(body);
    const { code = `HTTP ${response.status}`, error = 'no JSON-RPC response' } = { ...body } as ApiError;
    return failure(id, -32_000, `${code}: ${error}`);
  } catch (error) {
    if (id === null) return null;
    return failure(id, -32_000, `${url} does not respond: ${error instanceof Error ? error.message : ''}`);
  }
}

interface ApiError {
  code?: string;
  error?: string;
}

const parsed = (text: string): Message | null => objectOf(parseJson(text));

const failure = (id: string | number | null, code: number, message: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } });

/** Over HTTP, a request of the revision 2026-07-28 or later repeats parts of its body in headers. */
function protocolHeaders({ id, method, params }: Message): Record<string, string> {
  const version = params?.['_meta']?.['io.modelcontextprotocol/protocolVersion'];
  if (id === undefined || method === undefined || typeof version !== 'string') return {};
  const name = params?.name ?? params?.uri;
  return {
    'MCP-Protocol-Version': version,
    'Mcp-Method': method,
    ...(typeof name === 'string' && { 'Mcp-Name': encoded(name) }),
  };
}

/** The protocol's encoding of a value that a header cannot contain. */
const encoded = (value: string): string =>
  /^[!-~]([ -~]*[!-~])?$/.test(value) && !value.startsWith('=?base64?')
    ? value
    : `=?base64?${Buffer.from(value).toString('base64')}?=`;
