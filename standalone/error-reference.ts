import { STATUS_CODES } from 'node:http';
import { ERRORS } from '#api/http/errors.ts';

const INTRODUCTION = `# Errors

Generated from \`api/http/errors.ts\` by \`npm run docs\`.

An error response has a JSON body with \`error\`, a message for people, \`code\`, which is stable, and \`requestId\`, which
also appears in the logs. Handle errors by \`code\`: messages can be more specific than those listed here.

\`\`\`json
{ "error": "recipientPhone: must be a phone number", "code": "VALIDATION_ERROR", "requestId": "…", "issues": [{ "path": "recipientPhone", "message": "must be a phone number" }] }
\`\`\`

\`VALIDATION_ERROR\` lists every invalid field in \`issues\`. \`429\` and \`503\` have a \`Retry-After\` header if the time of
the next attempt is known. If a request times out or fails with 5xx, retry it with the same \`Idempotency-Key\`.
The reference page (\`/docs\`) lists the codes of each endpoint.
`;

/** docs/errors.md. */
export function errorReference(): string {
  const byStatus = Map.groupBy(Object.entries(ERRORS), ([, [status]]) => status);
  const rows = [...byStatus]
    .toSorted(([one], [other]) => one - other)
    .map(([status, errors]) => {
      const codes = errors.map(([code, [, text]]) => `\`${code}\`: ${text}`);
      return `| ${status} ${STATUS_CODES[status]} | ${codes.join('<br>')} |`;
    });
  return `${INTRODUCTION}\n${['| Status | Codes |', '| - | - |', ...rows].join('\n')}\n`;
}
