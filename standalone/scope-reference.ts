import { scopesOf } from '#api/http/scopes.ts';
import type { TenantRoute } from '#api/http/route.ts';
import { routes } from '#api/routes.ts';
import { KEY_SCOPES, type KeyScope } from '#domain/accounts/key-scope.ts';

const INTRODUCTION = `# What a stolen key can do

Generated from the route table by \`npm run docs\`. \`test/conformance/access.test.ts\` calls every endpoint with keys of one scope, and
with keys that have all but the needed ones; \`test/conformance/credentials-reach.test.ts\` calls every endpoint with every kind
of credential and compares what it has made.

Whatever its scopes, a key reaches one workspace. It cannot create, list, roll or revoke keys, sessions and passkeys, change roles, or remove
admins. It can invite only with \`manage\`: members, or admins if it has all scopes, no expiry and no \`allowedIps\`; open
invitations end with it. Only such a key can connect a CRM, which stays connected. Webhooks of a key that is narrower or expires end with it; others do if whoever revokes it asks for
it (\`endWebhooks\`). Contents that it has created stay: the [audit log](security.md) lists them by key. A key with several scopes can do what is listed for each.
`;

/** docs/scopes.md. */
export function scopeReference(): string {
  const reached = routes.filter((route): route is TenantRoute => route.caller !== 'anyone');
  const rows = [...Map.groupBy(reached, ({ tag }) => tag)].flatMap(([tag, group]) => {
    const cells = KEY_SCOPES.map((scope) => allowedBy(scope, group));
    return cells.every((text) => text === '') ? [] : [`| ${[tag, ...cells].join(' | ')} |`];
  });
  const head = ['Resource', ...KEY_SCOPES.map((scope) => `\`${scope}\``)];
  return `${INTRODUCTION}\n${[`| ${head.join(' | ')} |`, `|${' - |'.repeat(head.length)}`, ...rows].join('\n')}\n`;
}

const allowedBy = (scope: KeyScope, group: readonly TenantRoute[]): string =>
  group
    .filter((route) => scopesOf(route).includes(scope))
    .map(({ summary }) => cell(summary))
    .join('<br>');

const cell = (text: string): string =>
  text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('{', '&#123;');
