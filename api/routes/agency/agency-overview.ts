import { z } from 'zod';
import { listClients } from '#db/queries/accounts/agency.ts';
import { countByWorkspace } from '#db/queries/analytics/analytics.ts';
import { WorkspaceId } from '#domain/base/ids.ts';
import { Metrics, metricsOf, NO_COUNTS, sumCounts } from '#domain/analytics/metrics.ts';
import { wholeNumber } from '#api/http/page.ts';
import { agencyRoute } from '#api/http/route.ts';

export const agencyOverviewRoutes = [
  agencyRoute({
    id: 'getAgencyOverview',
    method: 'GET',
    path: '/api/agency/overview',
    tag: 'Agency',
    summary: 'Get the metrics of the last days, in total and per workspace',
    query: z.object({ days: wholeNumber(1, 365, 30) }),
    responses: {
      200: z.object({
        success: z.literal(true),
        days: z.int(),
        totals: Metrics.meta({ description: 'A contact of two workspaces counts twice.' }),
        workspaces: z.array(z.object({ workspaceId: WorkspaceId, name: z.string(), metrics: Metrics })),
      }),
    },
    async handler({ db, caller, query: { days }, now }) {
      const clients = await listClients(db, caller.agency.id);
      const from = new Date(now.getTime() - days * 86_400_000);
      const counts = await countByWorkspace(
        db,
        clients.map(({ id }) => id),
        { from },
      );
      const workspaces = clients.map(({ id, name }) => ({
        workspaceId: id,
        name,
        metrics: metricsOf(counts.get(id) ?? NO_COUNTS),
      }));
      return {
        status: 200,
        body: { success: true, days, totals: metricsOf(sumCounts([...counts.values()])), workspaces },
      };
    },
  }),
];
