import { z } from 'zod';
import { parseOwnJson } from '#domain/base/own-json.ts';
import { perMinute } from '#api/http/rate-limits.ts';
import { type Route, workspaceRoute } from '#api/http/route.ts';

/** A message of JSON-RPC 2.0; the protocol's own schemas check the rest. */
const RpcMessage = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    method: z.string().max(200).optional(),
    params: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'RpcMessage' });

const RpcResponse = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    result: z.unknown().optional(),
    error: z.looseObject({ code: z.int(), message: z.string() }).optional(),
  })
  .meta({ id: 'RpcResponse' });

/** @param routes a function, because this route is among those that its tools call. */
export const mcpRoutes = (routes: () => readonly Route[]): Route[] => [
  workspaceRoute({
    id: 'mcp',
    method: 'POST',
    path: '/mcp',
    tag: 'MCP',
    scope: ['read', 'draft'],
    summary: 'Tools for AI assistants (Model Context Protocol)',
    description:
      'The Streamable HTTP transport, without sessions and streams: the response to each message is JSON. The tools read data and write drafts for a person to approve; none of them sends. A key sees the tools that its scopes allow.',
    limit: perMinute(300),
    // Each tool has the rules of the endpoint that it calls.
    openWhenReadOnly: true,
    transaction: false,
    body: RpcMessage,
    responses: {
      200: RpcResponse,
      202: z.literal('').meta({ description: 'The message was a notification or a response.' }),
      400: RpcResponse,
      404: RpcResponse,
    },
    async handler({ caller, body, header, dispatch }) {
      // Few processes ever need it, and the SDK of the protocol takes 16 MB.
      const { answer, createServer } = await import('#api/mcp/server.ts');
      const server = () => createServer({ routes: routes(), caller, dispatch });
      const response = await answer(body, header, server);
      const text = await response.text();
      const { status } = response as { status: 200 };
      return { status, body: (text === '' ? '' : parseOwnJson(text)) as z.infer<typeof RpcResponse> };
    },
  }),
];
