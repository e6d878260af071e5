import { readFileSync } from 'node:fs';
import { CONSOLE_CODE_MINUTES } from '#domain/accounts/console-code.ts';
import type { Demo } from './demo-data.ts';
import type { Addresses } from './launcher.ts';

/**
 * The text after a start: addresses, keys, and a command that sends a first message.
 * @param demoFile absolute path of `demo.json`.
 * @param firstStart keys are printed on the first start only; later the command reads them from the file.
 */
export function greeting(
  { apiUrl, temporalUiUrl, consoleUrl, isLively }: Addresses,
  demoFile: string,
  firstStart: boolean,
): string {
  const demo = JSON.parse(readFileSync(demoFile, 'utf8')) as Demo;
  const { workspaceKey } = demo;
  const key = firstStart ? workspaceKey : `$(node -p "require('${demoFile}').workspaceKey")`;
  const rows = [
    ...(consoleUrl === null
      ? []
      : [
          ['Console', consoleUrl],
          ['', `signs in once, within ${CONSOLE_CODE_MINUTES} minutes`],
          ...(isLively
            ? [['', 'shows a month of a letting agency, in test mode (DEMO=empty: without it)']]
            : []),
        ]),
    ['API', apiUrl],
    ['API reference', `${apiUrl}/docs`],
    ...(temporalUiUrl === '' ? [] : [['Temporal Web UI', temporalUiUrl]]),
    ...(firstStart
      ? [
          ['Demo workspace', demo.workspaceId],
          ['Demo lines', demo.lineIds.join(' ')],
          ['Demo key', workspaceKey],
          ['Demo agency key', demo.agencyKey],
          ['', `shown once; stored with session tokens in ${demoFile}`],
        ]
      : [['Demo keys', demoFile]]),
  ];
  return [
    '',
    ...rows.map(([name = '', value = '']) => `  ${name.padEnd(17)}${value}`),
    '',
    'Send a message through a simulated line:',
    '',
    `curl -X POST ${apiUrl}/api/messages -H "Authorization: Bearer ${key}" -H "Content-Type: application/json" ` +
      `-d '{"recipientPhone": "+14155550123", "message": "Hello from Linepace"}'`,
    '',
    'Ctrl-C stops it; the data stays.',
  ].join('\n');
}
