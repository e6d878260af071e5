import { z } from 'zod';
import { recordReporting } from '#db/commands/lines/inbox-health.ts';
import { notifyLineDown } from '#db/commands/lines/line-emails.ts';
import { findLine } from '#db/queries/lines/lines.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { failureOf, probeLine } from '#db/commands/lines/probe-line.ts';
import { HealthStatus } from '#domain/lines/line.ts';
import { Id } from '#domain/base/ids.ts';
import { reportingCheck } from '#providers/carriers/connection-checks.ts';
import { callbackAddress, lineCarrier } from '#providers/carriers/line-carrier.ts';
import { mailSeal } from '#providers/mail/seal.ts';
import { NO_CARRIER } from '#domain/lines/line.ts';
import { invalid } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { lineNotFound } from './lines.ts';

export const lineHealthRoutes = [
  workspaceRoute({
    id: 'checkLineAvailability',
    method: 'GET',
    path: '/api/lines/check-availability',
    tag: 'Lines',
    transaction: false,
    summary: 'Probe a line now and store the result as its healthCheck',
    query: z.object({ id: z.string({ error: 'is required' }).min(1, 'is required') }),
    responses: {
      200: z.object({
        success: z.literal(true),
        lineId: Id,
        status: HealthStatus,
        failures: z.array(z.object({ check: z.string(), error: z.string() })),
        checkedAt: z.iso.datetime(),
        shouldNotify: z.boolean(),
        notificationSent: z.boolean(),
      }),
    },
    errors: ['NOT_FOUND'],
    async handler({ caller, query, ...services }) {
      const { pools, secrets, config } = services;
      const workspaceId = caller.workspace.id;
      const line = await withTenant(pools, workspaceId, (db) => findLine(db, query.id));
      if (!line) throw lineNotFound();
      if (!line.isActive || line.provisioningStatus !== 'active')
        throw invalid('id', 'the line is not active');
      if (line.carrier === NO_CARRIER) throw invalid('id', 'the line is not connected to a carrier');
      const settings = openSettings(() => lineCarrier(services, line));
      let notified = false;
      const probed = await probeLine(
        pools,
        { workspaceId, lineId: line.id },
        () => settings.carrier.probe(settings.config, line.id, line.phone ?? line.email),
        async (db, current, { wentDown, wasBlocked, failure }, at) => {
          if (wentDown && !wasBlocked)
            notified = await notifyLineDown(db, current, failure, mailSeal(secrets, workspaceId), at);
        },
      );
      if (!probed) throw lineNotFound();
      const inboxFailure = await failureOf(async () => {
        await settings.carrier.readInbox?.(settings.config, null, workspaceId);
      });
      const reporting = await reportingCheck(settings.carrier, settings.config, {
        lineId: line.id,
        address: line.phone ?? line.email,
        callbackUrl: callbackAddress(config.publicUrl, settings.carrier, line.id),
      });
      const unreported = reporting?.result === 'fail' ? reporting.text : null;
      if (reporting) {
        const how = { seal: mailSeal(secrets, workspaceId), now: probed.checkedAt };
        await withTenant(pools, workspaceId, (db) => recordReporting(db, probed.line, unreported, how));
      }
      const failures = [
        ...(probed.failure === null ? [] : [{ check: 'probe', error: probed.failure }]),
        ...(inboxFailure === null ? [] : [{ check: 'inbox', error: inboxFailure }]),
        ...(unreported === null ? [] : [{ check: 'callback', error: unreported }]),
      ];
      return {
        status: 200,
        body: {
          success: true,
          lineId: line.id,
          status:
            probed.status === 'healthy' && (inboxFailure ?? unreported) !== null ? 'degraded' : probed.status,
          failures,
          checkedAt: probed.checkedAt.toISOString(),
          shouldNotify: probed.wentDown && probed.lineDownNotifications,
          notificationSent: notified,
        },
      };
    },
  }),
];

function openSettings<T>(open: () => T): T {
  try {
    return open();
  } catch {
    throw invalid('id', 'the line is not configured');
  }
}
