import Router from '@koa/router';
import { z } from 'zod';
import type { SimulatorPart } from './part.ts';

const Query = z.object({ status: z.coerce.number().int().min(200).max(599).default(204) });

/** A program that receives webhooks: `POST /simulated/webhooks/{name}?status=503` answers with that status, otherwise 204. */
export function simulateWebhookReceiver(): SimulatorPart {
  const routes = new Router();
  routes.post('/simulated/webhooks/:name', (context) => {
    context.body = null;
    context.status = Query.parse(context.query).status;
  });
  return { routes, async stop() {} };
}
