import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { sql } from 'slonik';
import { z } from 'zod';
import { callerOf, reply } from '../bench/support/callers.ts';
import { startProduct } from '../bench/support/product.ts';
import { until } from '../bench/support/waiting.ts';
import { createBenchWorkspace, unpaced } from '../bench/support/workspace.ts';
import { systemDb } from '../../db/connection/transactions.ts';
import { freePort } from '../../providers/free-port.ts';
import { startBrowser, TAB } from '../../test/console/browser.ts';
import { npmPackages, provePart, responds, startProgram } from './world/part.ts';

/**
 * `npm run prove -- n8n`: an n8n with our nodes runs a workflow that answers whoever writes. n8n is installed from npm, once and in some
 * minutes. Without the scripts of its packages nothing is compiled: of what these would build, it needs none with PostgreSQL.
 * `RENEW_PICTURES=1` takes the picture of the workflow in its README.
 */
const VERSION = '2.40.7';
/** What n8n compiles community nodes with. */
const COMPILER = 'typescript@5.9.2';
const SOURCE = resolve('integrations/n8n');
const CONTACT = '+14155550123';
const WAIT_MS = 30_000;
const PICTURE = resolve('docs/images/n8n-workflow.png');

const run = promisify(execFile);

/** Compiles and packs the nodes into n8n's folder of community nodes. */
async function installNodes(modules: string, home: string): Promise<void> {
  const source = join(home, 'source');
  for (const part of ['package.json', 'tsconfig.json', 'credentials', 'nodes'])
    await cp(join(SOURCE, part), join(source, part), { recursive: true });
  // Their types are those of the n8n that runs them.
  const paths = { 'n8n-workflow': [join(modules, 'n8n-workflow')] };
  await writeFile(
    join(source, 'build.json'),
    JSON.stringify({
      extends: './tsconfig.json',
      compilerOptions: { paths, typeRoots: [join(modules, '@types')] },
    }),
  );
  await run(process.execPath, [join(modules, 'typescript/bin/tsc'), '-p', join(source, 'build.json')]);
  const installed = join(home, '.n8n/nodes/node_modules/n8n-nodes-linepace');
  await mkdir(installed, { recursive: true });
  await cp(join(source, 'package.json'), join(installed, 'package.json'));
  await cp(join(source, 'dist'), join(installed, 'dist'), { recursive: true });
  await cp(join(SOURCE, 'icons'), join(installed, 'dist/icons'), { recursive: true });
}

/** Sets up the owner of the n8n, whose workflow it is, and takes a picture of it in the editor. */
async function takePicture(address: string): Promise<void> {
  const browser = await startBrowser();
  try {
    const page = await browser.newPage({ ...TAB, viewport: { width: 1100, height: 520 } });
    const owner = {
      email: 'ada@example.com',
      firstName: 'Ada',
      lastName: 'Byron',
      password: 'A password of 1 run',
    };
    const { status } = await page.request
      .post(`${address}/rest/owner/setup`, { data: owner })
      .then((response) => ({ status: response.status() }));
    if (status !== 200) throw new Error(`n8n answered ${status} to its setup`);
    await page.goto(`${address}/workflow/${WORKFLOW.id}`);
    const icons = page.locator('[data-test-id="canvas-node"] img');
    await icons.nth(1).waitFor();
    for (const icon of await icons.all())
      await until(
        async () => icon.evaluate((image: { naturalWidth: number }) => image.naturalWidth > 0),
        WAIT_MS,
      );
    await page.keyboard.press('1');
    await page.screenshot({ path: PICTURE, caret: 'hide', animations: 'disabled' });
  } finally {
    await browser.close();
  }
}

/** Answers whoever writes. */
const WORKFLOW = {
  id: 'answerworkflow01',
  name: 'Answer',
  active: false,
  settings: {},
  nodes: [
    {
      id: '1',
      name: 'Linepace Trigger',
      type: 'n8n-nodes-linepace.linepaceTrigger',
      typeVersion: 1,
      position: [0, 0],
      webhookId: 'f1c3a6de-0000-4000-8000-000000000001',
      parameters: { events: ['message.reply'], filters: {} },
      credentials: { linepaceApi: { id: 'linepacecred0001', name: 'Linepace' } },
    },
    {
      id: '2',
      name: 'Linepace',
      type: 'n8n-nodes-linepace.linepace',
      typeVersion: 1,
      position: [220, 0],
      parameters: {
        resource: 'message',
        operation: 'send',
        messageType: 'imessage',
        recipient: '={{ $json.data.reply.recipientPhone }}',
        message: '=You wrote: {{ $json.message }}',
      },
      credentials: { linepaceApi: { id: 'linepacecred0001', name: 'Linepace' } },
    },
  ],
  connections: { 'Linepace Trigger': { main: [[{ node: 'Linepace', type: 'main', index: 0 }]] } },
};

await provePart({
  name: 'n8n',
  find() {
    const modules = npmPackages('n8n', ['--ignore-scripts', `n8n@${VERSION}`, COMPILER]);
    return modules === null ? 'n8n cannot be installed' : { version: VERSION, modules };
  },
  async prove({ modules }, check) {
    const home = await mkdtemp(join(tmpdir(), 'linepace-n8n-'));
    const product = await startProduct();
    try {
      await installNodes(modules, home);
      const owner = new pg.Client({ connectionString: product.ownerUrl });
      await owner.connect();
      await owner.query('create database n8n');
      await owner.end();
      const database = new URL(product.ownerUrl);
      const [port, brokerPort] = [await freePort(), await freePort()];
      const address = `http://127.0.0.1:${port}`;
      const env = {
        N8N_USER_FOLDER: home,
        N8N_PORT: String(port),
        N8N_LISTEN_ADDRESS: '127.0.0.1',
        N8N_RUNNERS_BROKER_PORT: String(brokerPort),
        N8N_ENCRYPTION_KEY: 'of this run',
        N8N_DIAGNOSTICS_ENABLED: 'false',
        N8N_VERSION_NOTIFICATIONS_ENABLED: 'false',
        N8N_TEMPLATES_ENABLED: 'false',
        WEBHOOK_URL: `${address}/`,
        DB_TYPE: 'postgresdb',
        DB_POSTGRESDB_HOST: database.hostname,
        DB_POSTGRESDB_PORT: database.port,
        DB_POSTGRESDB_USER: decodeURIComponent(database.username),
        DB_POSTGRESDB_PASSWORD: decodeURIComponent(database.password),
        DB_POSTGRESDB_DATABASE: 'n8n',
      };
      const program = join(modules, 'n8n/bin/n8n');
      const command = (...args: string[]) =>
        run(process.execPath, [program, ...args], { env: { ...process.env, ...env } });

      const { id, key, lineIds } = await createBenchWorkspace(product.pools, 1);
      await unpaced(product.pools, id);
      const call = callerOf(product.config, key);
      const data = { baseUrl: product.config.publicUrl, apiKey: key };
      const credential = { id: 'linepacecred0001', name: 'Linepace', type: 'linepaceApi', data };
      await writeFile(join(home, 'credentials.json'), JSON.stringify([credential]));
      await writeFile(join(home, 'workflows.json'), JSON.stringify([WORKFLOW]));
      await command('import:credentials', `--input=${join(home, 'credentials.json')}`);
      await command('import:workflow', `--input=${join(home, 'workflows.json')}`);
      await command('publish:workflow', `--id=${WORKFLOW.id}`);

      const n8n = await startProgram(process.execPath, [program, 'start'], responds(`${address}/healthz`), {
        env,
      });
      try {
        const countWebhooks = (): Promise<number> =>
          systemDb(product.pools).oneFirst(sql.type(z.object({ count: z.int() }))`
            select count(*)::int count from webhooks where workspace_id = ${id}`);
        await until(async () => (await countWebhooks()) > 0, WAIT_MS).catch(() => {});
        const [webhook] = (await call('GET', '/api/webhooks')).body.webhooks;
        check(
          'activating the workflow registers a webhook that retries',
          webhook?.retries === 'standard' && webhook?.url.startsWith(address),
          webhook,
        );
        // Read where no rate limit counts.
        const answers = (): Promise<readonly string[]> =>
          systemDb(product.pools).anyFirst(sql.type(z.object({ body: z.string() }))`
            select body from messages where workspace_id = ${id} order by id`);
        await reply(product.config, lineIds[0] ?? '', CONTACT, 'Are dogs allowed?');
        await until(async () => (await answers()).length > 0, WAIT_MS).catch(() => {});
        check(
          'a contact who writes is answered by the workflow',
          (await answers()).join() === 'You wrote: Are dogs allowed?',
          await answers(),
        );
        const forged = await fetch(webhook?.url ?? address, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ event: 'message.reply', phone: CONTACT, message: 'Forged' }),
        });
        check('what the server has not signed is refused', forged.status === 401, forged.status);
        await reply(product.config, lineIds[0] ?? '', CONTACT, 'And cats?');
        await until(async () => (await answers()).length > 1, WAIT_MS).catch(() => {});
        check(
          'and starts nothing',
          (await answers()).join() === 'You wrote: Are dogs allowed?,You wrote: And cats?',
          await answers(),
        );
        if (process.env['RENEW_PICTURES'] === '1') await takePicture(address);
      } finally {
        await n8n.stop('SIGTERM');
      }
    } finally {
      await product.stop();
      await rm(home, { recursive: true, force: true });
    }
  },
});
