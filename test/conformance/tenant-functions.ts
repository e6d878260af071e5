import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'slonik';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { World } from './tenant-world.ts';

/** An exported function of `db/` whose first parameter is the transaction of a workspace. */
export interface TenantFunction {
  name: string;
  /** Calls it with arguments that are made from the names and types of its parameters. */
  call(db: TenantDb, of: World): Promise<unknown>;
}

interface Parameter {
  name: string;
  type: string;
}

const DB = fileURLToPath(new URL('../../db/', import.meta.url));
const FOLDERS = /^(queries|commands)\//;

/** Every function of `db/queries` and `db/commands` that takes a `TenantDb` first, from their sources. */
export async function tenantFunctions(): Promise<TenantFunction[]> {
  const files = (await readdir(DB, { recursive: true })).filter(
    (file) => FOLDERS.test(file) && file.endsWith('.ts') && !file.endsWith('.test.ts'),
  );
  const found = await Promise.all(
    files.toSorted().map(async (file) => {
      const source = await readFile(DB + file, 'utf8');
      const module = (await import(DB + file)) as Record<string, (...args: unknown[]) => unknown>;
      return Object.entries(module).flatMap(([name, work]): TenantFunction[] => {
        const parameters = typeof work === 'function' ? parametersOf(source, name) : [];
        if (!parameters[0]?.type.startsWith('TenantDb')) return [];
        const noun = basename(file, '.ts');
        return [
          {
            name: `${file} ${name}`,
            call: async (db, of) =>
              work(db, ...parameters.slice(1).map((parameter) => argument(parameter, noun, of))),
          },
        ];
      });
    }),
  );
  return found.flat();
}

/** The parameters of an exported function. */
function parametersOf(source: string, name: string): Parameter[] {
  const start = new RegExp(`export (?:async )?(?:function |const )${name}\\b[^(]*\\(`).exec(source);
  if (!start) return [];
  const parameters: string[] = [''];
  let depth = 1;
  for (let at = start.index + start[0].length; depth > 0 && at < source.length; at += 1) {
    const sign = source[at] ?? '';
    if ('([{<'.includes(sign)) depth += 1;
    // The arrow of a function's type closes nothing.
    if (')]}'.includes(sign) || (sign === '>' && source[at - 1] !== '=')) depth -= 1;
    if (depth === 0) break;
    if (depth === 1 && sign === ',') parameters.push('');
    else parameters[parameters.length - 1] += sign;
  }
  return parameters
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .map((text) => {
      const colon = text.startsWith('{') ? text.indexOf(':', text.lastIndexOf('}: ')) : text.indexOf(':');
      const destructured = /^\{[^]*?\}\s*:\s*/.exec(text);
      const head = text.startsWith('{') ? (destructured?.[0] ?? text) : text.slice(0, colon + 1);
      return { name: head.replace(/[\s:?]+$/, ''), type: text.slice(head.length).trim() };
    });
}

function argument({ name, type }: Parameter, noun: string, of: World): unknown {
  if (type.includes('ragment') || type.includes('SqlToken')) return sql.fragment`true`;
  if (/^(readonly )?string\[\]|^ReadonlyArray<string>/.test(type)) return [named(name, noun, of)];
  if (/^(Readonly)?Set</.test(type)) return new Set([named(name, noun, of)]);
  if (/^(Readonly)?Map</.test(type)) return new Map();
  if (type.startsWith('string')) return named(name, noun, of);
  if (type.startsWith('number')) return 50;
  if (type.startsWith('boolean')) return true;
  if (type.startsWith('Date')) return new Date();
  if (name === 'now' || name === 'at') return new Date();
  if (type.endsWith('[]')) return [fields(noun, of)];
  if (type.includes('=>')) return () => named('id', noun, of);
  return fields(noun, of);
}

/** An object that has every field, with something of the world in it. */
function fields(noun: string, of: World): unknown {
  return new Proxy(
    {},
    {
      get(_, name) {
        if (typeof name === 'symbol' || name === 'then' || name === 'toJSON' || name === 'workspaceId')
          return undefined;
        if (/(Ids|addresses|links|urls|leads|tags)$/i.test(name)) return [named(name, noun, of)];
        if (name === 'timezone') return 'UTC';
        if (/(At|now|until|since|start|end|day)$/i.test(name)) return new Date();
        if (/(count|limit|size|seconds|status|round|ms)$/i.test(name)) return 1;
        return /^(is|has|can)[A-Z]/.test(name) ? true : named(name, noun, of);
      },
    },
  );
}

/** What a world calls something of this name; an `id` is that of the noun whose file the function is in. */
function named(name: string, noun: string, { ids, fields: values, ...world }: World): string {
  const own: Record<string, string | undefined> = {
    messages: world.messages.delivered,
    lines: world.lineId,
    leads: world.leadId,
    lists: world.listId,
    campaigns: world.campaignId,
    replies: world.replyId,
    'lead-imports': world.importId,
    webhooks: ids['/api/webhooks/'],
    'webhook-deliveries': ids['/api/webhooks/{id}/deliveries/'],
    availability: ids['/api/leads/check-availability/jobs/'],
    'api-keys': ids['/api/keys/'],
    invitations: ids['/api/team/invitations/'],
    'opt-outs': world.person.email,
  };
  const alias: Record<string, string | undefined> = {
    address: world.person.phone,
    addresses: world.person.phone,
    phone: world.person.phone,
    email: world.person.email,
    importId: world.importId,
    webhookId: ids['/api/webhooks/'],
    jobId: ids['/api/leads/check-availability/jobs/'],
    channel: 'imessage',
    kind: 'primary',
    carrier: 'simulated',
  };
  const singular = name.replace(/Ids$/, 'Id');
  return alias[name] ?? values[singular] ?? own[noun] ?? world.messages.delivered;
}
