import type { z } from 'zod';
import { documentationOf, SUBJECTS, type Subject } from '#domain/base/environment.ts';
import { LAUNCHER_VARIABLES } from './settings.ts';

const INTRODUCTION = `# Configuration

Generated from \`domain/base/environment.ts\` and \`standalone/settings.ts\` by \`npm run docs\`.

Linepace is configured with environment variables. A process with an invalid configuration does not start and lists all
problems. An empty variable counts as unset. \`npm start\` provides defaults for a local installation.

The operators' commands and \`npm run rotate-keys\` read the variables of the workers.
`;

/** docs/configuration.md. */
export function configurationReference(): string {
  const subjects: Subject[] = [
    ...SUBJECTS,
    { title: 'Ports of a local installation', variables: LAUNCHER_VARIABLES },
  ];
  const rows = subjects.flatMap(({ title, introduction = '', variables }) => [
    `| **${title}** | | | ${introduction} |`,
    ...Object.entries(variables).map(([name, variable]) => row(name, variable)),
  ]);
  const head = ['| Variable | Default | Read by | Description |', '| - | - | - | - |'];
  return `${INTRODUCTION}\n${[...head, ...rows].join('\n')}\n`;
}

function row(name: string, variable: z.ZodType): string {
  const { description, readBy, shownDefault = defaultOf(variable) } = documentationOf(variable);
  return `| \`${name}\` | ${shownDefault} | ${readBy.join(', ')} | ${description} |`;
}

function defaultOf(variable: z.ZodType): string {
  const unset = variable.safeParse(undefined);
  if (!unset.success) return 'required';
  const { data } = unset;
  return typeof data === 'string' || typeof data === 'number' ? `\`${data}\`` : '';
}
