import { sendConsole, sendConsoleAsset } from './console-files.ts';
import { ApiError } from '#api/http/errors.ts';
import { publicRoute } from '#api/http/route.ts';

const page = {
  method: 'GET',
  tag: 'Console',
  summary: 'The console, a web page for people',
  contentTypes: { 200: 'text/html', 503: 'text/html' },
  hidden: true,
} as const;

export const consoleRoutes = [
  publicRoute({
    ...page,
    id: 'consoleAsset',
    path: '/console/assets/{name}',
    contentTypes: { 200: 'application/octet-stream' },
    async respond(context) {
      if (!(await sendConsoleAsset(context, String(context['params'].name)))) throw new ApiError('NOT_FOUND');
    },
  }),
  publicRoute({
    ...page,
    id: 'console',
    path: '/console',
    respond: (context, { config }) => sendConsole(context, config.publicUrl),
  }),
  // The browser routes the pages of the console.
  publicRoute({
    ...page,
    id: 'consolePage',
    path: '/console/{*path}',
    respond: (context, { config }) => sendConsole(context, config.publicUrl),
  }),
];

/** The links in responses (`inboxHref`). */
export const inboxLinkRoutes = [
  publicRoute({
    ...page,
    id: 'inboxLink',
    path: '/inbox/{address}',
    contentTypes: { 302: null },
    async respond(context) {
      context.redirect(`/console/inbox/${encodeURIComponent(String(context['params'].address))}`);
    },
  }),
];
