import { readFile, writeFile } from 'node:fs/promises';
import { STATUS_CODES } from 'node:http';
import { ERRORS } from '#api/http/errors.ts';

/*
 * `docs/errors.md`, from the table of errors in the code. `npm run docs` writes it, and `npm run check` compares.
 */
const PAGE = new URL('../docs/errors.md', import.meta.url);

const INTRODUCTION = `# Errors

Generated from \`api/http/errors.ts\` by \`npm run docs\`.

A response that is not a success has a JSON body with \`error\`, a text for people, \`code\`, which stays the same, and
\`requestId\`, which the logs have as well. Program against \`code\`; the text of an error may say more than the one here.

\`\`\`json
{ "error": "recipientPhone: must be a phone number", "code": "VALIDATION_ERROR", "requestId": "…", "issues": [{ "path": "recipientPhone", "message": "must be a phone number" }] }
\`\`\`

\`VALIDATION_ERROR\` lists every refused field in \`issues\`. \`429\` and \`503\` carry \`Retry-After\` if it is known when a
repetition helps. Repeat a request that was not answered, or with 5xx, with the same \`Idempotency-Key\`.
The reference page (\`/docs\`) has the codes of each endpoint.
`;

/** Generates the page from the code. */
export function errorReference(): string {
  const byStatus = Map.groupBy(Object.entries(ERRORS), ([, [status]]) => status);
  const sections = [...byStatus]
    .toSorted(([one], [other]) => one - other)
    .map(([status, errors]) => {
      const rows = errors.map(([code, [, text]]) => `| \`${code}\` | ${text} |`);
      return [`## ${status} ${STATUS_CODES[status]}`, '', '| Code | Text |', '| - | - |', ...rows, ''].join(
        '\n',
      );
    });
  return `${INTRODUCTION}\n${sections.join('\n')}`;
}

export const errorReferenceIsCurrent = async (): Promise<boolean> =>
  (await readFile(PAGE, 'utf8').catch(() => '')) === errorReference();

if (import.meta.main) await writeFile(PAGE, errorReference());
