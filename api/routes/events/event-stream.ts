import { z } from 'zod';
import { COMMENT_EVERY_MS, STREAMS_PER_HOLDER } from '#domain/events/event-stream.ts';
import { WorkspaceId } from '#domain/base/ids.ts';
import { CONTACT_TYPING_EVENT, PRESENCE_EVENT } from '#domain/inbox/presence.ts';
import { ResponseStream, workspaceRoute } from '#api/http/route.ts';

export const eventStreamRoutes = [
  workspaceRoute({
    id: 'streamEvents',
    method: 'GET',
    path: '/api/events/stream',
    tag: 'Events',
    summary: 'Follow the events of the workspace as they happen (Server-Sent Events)',
    description: `Every event that webhooks can subscribe to, whether or not a webhook does: \`id\` is its event id, \`event\` its name, \`data\` the body that webhooks receive. A stream begins with the events that are committed from then on, or, with \`Last-Event-ID\`, after that one, in the same order as before. If that event is unknown or older than 30 days, the first event is \`stream.reset\`: events may be missing. A comment comes every ${COMMENT_EVERY_MS / 1000} seconds. A stream ends within 30 seconds after its key is revoked, and when the server stops; reconnect. A key or a user may have ${STREAMS_PER_HOLDER} streams open at a time.`,
    ofClients: true,
    transaction: false,
    headers: z.object({
      'Last-Event-ID': z
        .string()
        .optional()
        .meta({ description: 'The `id` of the last event that was received.' }),
    }),
    query: z.object({
      workspaceId: WorkspaceId.optional().meta({
        description: "A workspace of the user's agency. Default: the session's workspace.",
      }),
      presence: z
        .enum(['true', 'false'])
        .default('false')
        .meta({
          description: `Whether the stream shows who looks at conversations, as events \`${PRESENCE_EVENT}\` without an id (\`POST /api/conversations/{address}/presence\`), and that contacts type, as \`${CONTACT_TYPING_EVENT}\`.`,
        }),
    }),
    produces: 'text/event-stream',
    responses: { 200: ResponseStream },
    async handler({ caller, header, query, streams, authenticate }) {
      const { stream, after } = await streams.open({
        workspaceId: caller.workspace.id,
        holder: `${caller.actor.type} ${caller.actor.id}`,
        lastEventId: header('last-event-id'),
        withPresence: query.presence === 'true',
        authenticate,
      });
      return {
        status: 200,
        body: stream,
        headers: {
          'Cache-Control': 'no-cache, no-transform',
          // Makes nginx and similar proxies forward events at once.
          'X-Accel-Buffering': 'no',
          // The connection ends with the stream, so that a server that stops is not kept waiting.
          Connection: 'close',
          ...(after !== null && { 'Last-Event-ID': after }),
        },
      };
    },
  }),
];
