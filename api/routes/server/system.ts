import { systemDb } from '#db/connection/transactions.ts';
import { checkReadiness, isStuck, type Readiness } from '#providers/readiness.ts';
import { currentTime } from '#domain/base/clock.ts';
import { ApiError } from '#api/http/errors.ts';
import { publicRoute } from '#api/http/route.ts';
import { isWaitingForSetup } from '../accounts/setup-announcement.ts';

/** RFC 9116 recommends less than a year. */
const SECURITY_TXT_DAYS = 180;

/** Anybody may call this, so all requests within a second get the same response. */
const KEPT_MS = 1000;
const answers = new WeakMap<object, { readiness: Promise<Readiness>; at: number }>();

function readiness({ pools, check }: { pools: object; check: () => Promise<Readiness> }): Promise<Readiness> {
  const last = answers.get(pools);
  if (last && performance.now() - last.at < KEPT_MS) return last.readiness;
  const asked = check();
  answers.set(pools, { readiness: asked, at: performance.now() });
  return asked;
}

export const systemRoutes = [
  publicRoute({
    id: 'healthz',
    method: 'GET',
    path: '/healthz',
    tag: 'System',
    summary: 'Check that the process is up, and need not be restarted',
    description:
      '`stuck` with status 503 means that no query of one of its pools has succeeded for a minute.',
    contentTypes: { 200: 'application/json', 503: 'application/json' },
    async respond(context, { pools }) {
      const stuck = isStuck(pools);
      context.status = stuck ? 503 : 200;
      context.body = { status: stuck ? 'stuck' : 'ok' };
    },
  }),

  publicRoute({
    id: 'readyz',
    method: 'GET',
    path: '/readyz',
    tag: 'System',
    summary: 'Check that PostgreSQL and Temporal respond, that the schema is current and the keys are right',
    description:
      '`degraded` with status 200 means that a part fails without which messages are still sent: `storage` (requests that need files are refused), `identityProvider` (nobody can sign in there), `payments`, `telegram`, `slack`, or `twilio` (no numbers are bought). In production, `setup` is `needed` as long as nobody owns a workspace (`POST /api/setup`).',
    contentTypes: { 200: 'application/json', 503: 'application/json' },
    async respond(context, { pools, required, logger, config, parts }) {
      const { ready, body } = await readiness({
        pools,
        async check() {
          const found = await checkReadiness(required, logger, parts.checks);
          if (found.ready && (await isWaitingForSetup(systemDb(pools), config)))
            return { ...found, body: { ...found.body, setup: 'needed' } };
          return found;
        },
      });
      context.status = ready ? 200 : 503;
      context.body = body;
    },
  }),

  publicRoute({
    id: 'securityTxt',
    method: 'GET',
    path: '/.well-known/security.txt',
    tag: 'System',
    summary: 'The contact for reporting a vulnerability (RFC 9116); 404 unless `SECURITY_CONTACT` is set',
    contentTypes: { 200: 'text/plain' },
    errors: ['NOT_FOUND'],
    async respond(context, { config }) {
      if (config.securityContact === null) throw new ApiError('NOT_FOUND');
      const expires = new Date(currentTime().getTime() + SECURITY_TXT_DAYS * 86_400_000);
      context.type = 'text/plain';
      context.body = [
        `Contact: ${config.securityContact}`,
        `Expires: ${expires.toISOString()}`,
        `Canonical: ${config.publicUrl}/.well-known/security.txt`,
        '',
      ].join('\n');
    },
  }),

  publicRoute({
    id: 'metrics',
    method: 'GET',
    path: '/metrics',
    tag: 'System',
    summary: 'Metrics in the Prometheus text format',
    contentTypes: { 200: 'text/plain' },
    async respond(context, { metrics, waker }) {
      metrics.waitingWakes.set(waker.waiting);
      context.type = metrics.registry.contentType;
      context.body = await metrics.registry.metrics();
    },
  }),
];
