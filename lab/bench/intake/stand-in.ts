import { randomUUID } from 'node:crypto';
import Koa from 'koa';
import { koaBody } from 'koa-body';
import { STORES, type StoreOptions } from './stores.ts';

/*
 * Koa, a JSON body, and a store, which answers once the body is durable. Usage:
 * node lab/bench/intake/stand-in.ts NAME '{"databaseUrl", "redisUrl"}', with an IPC channel over which it sends its port.
 */
const [, , name = '', options = ''] = process.argv;
const store = await STORES[name]?.(JSON.parse(options) as StoreOptions);
if (!store) throw new Error(`there is no store ${name}`);

const app = new Koa();
app.use(koaBody());
app.use(async (koa) => {
  const id = randomUUID();
  await store(id, koa.request.body);
  koa.status = 202;
  koa.body = { messageId: id };
});
const server = app.listen(0, () => {
  const address = server.address();
  if (address && typeof address !== 'string') process.send?.({ port: address.port });
});
