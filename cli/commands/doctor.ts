import { Command } from 'commander';
import { Linepace, LinepaceError } from '#sdk/typescript/src/index.ts';
import { CommandFailed, EXIT } from '../exit-code.ts';
import { globalOptions, print } from '../output.ts';
import { credentials } from '../profiles.ts';

interface Check {
  name: string;
  ok: boolean;
  text: string;
}

const MAX_SKEW_S = 60;

export const doctor = (): Command =>
  new Command('doctor')
    .description('Check the server, the key, the lines and the webhooks.')
    .action(async (_options, command: Command) => {
      const { url, apiKey, keySource } = await credentials(globalOptions(command).profile);
      const linepace = new Linepace({ baseUrl: url, apiKey, maxRetries: 0, timeoutMs: 10_000 });
      const checks = [await checkServer(url)];
      if (checks[0]?.ok)
        checks.push(
          await checkKey(linepace, keySource),
          await checkLines(linepace),
          await checkWebhooks(linepace),
        );
      print(command, checks, (found) =>
        found.map(({ name, ok, text }) => `${ok ? '✓' : '✗'} ${name}: ${text}`).join('\n'),
      );
      if (checks.some(({ ok }) => !ok)) throw new CommandFailed('Something needs attention.', EXIT.FAILED);
    });

async function checkServer(url: string): Promise<Check> {
  const name = 'server';
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(10_000) });
    await response.body?.cancel();
    const skew = Math.abs(Date.now() - Date.parse(response.headers.get('Date') ?? '')) / 1000;
    if (!response.ok) return { name, ok: false, text: `${url} is not ready (${response.status})` };
    // Signatures of webhooks are valid for five minutes.
    if (skew > MAX_SKEW_S)
      return { name, ok: false, text: `this computer's clock is off by ${Math.round(skew)} s` };
    return { name, ok: true, text: `${url} is ready` };
  } catch {
    return { name, ok: false, text: `${url} does not respond` };
  }
}

const checkKey = (linepace: Linepace, source: string): Promise<Check> =>
  checked('key', async () => {
    const { workspace } = await linepace.workspace.get();
    const mode = workspace.mode === 'test' ? ', in test mode' : '';
    return [true, `the key from ${source} acts in ${workspace.name}${mode}`];
  });

const checkLines = (linepace: Linepace): Promise<Check> =>
  checked('lines', async () => {
    const { lines } = await linepace.lines.list();
    const active = lines.filter(({ isActive }) => isActive);
    const down = active.filter(({ healthCheck }) => healthCheck?.status === 'down');
    if (active.length === 0) return [false, 'no line is active'];
    return [down.length === 0, `${active.length} active, ${down.length} down`];
  });

const checkWebhooks = (linepace: Linepace): Promise<Check> =>
  checked('webhooks', async () => {
    const { webhooks } = await linepace.webhooks.list();
    const failing = webhooks.filter(
      ({ isActive, lastFailureAt, lastSuccessAt }) =>
        isActive && lastFailureAt !== null && (lastSuccessAt ?? '') < lastFailureAt,
    );
    return [failing.length === 0, `${webhooks.length} registered, ${failing.length} failed last time`];
  });

async function checked(name: string, check: () => Promise<[ok: boolean, text: string]>): Promise<Check> {
  try {
    const [ok, text] = await check();
    return { name, ok, text };
  } catch (error) {
    if (!(error instanceof LinepaceError)) throw error;
    return { name, ok: false, text: error.message };
  }
}
