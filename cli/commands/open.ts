import { spawn } from 'node:child_process';
import { Command } from 'commander';
import { globalOptions, print } from '../output.ts';
import { credentials } from '../profiles.ts';

const PAGES = { console: '/console', docs: '/docs' } as const;

export const open = (): Command =>
  new Command('open')
    .description('Open the console or the API reference in the browser.')
    .argument('[page]', Object.keys(PAGES).join(' or '), 'console')
    .option('--print-only', 'print the address only')
    .action(async (page: string, { printOnly }: { printOnly?: boolean }, command: Command) => {
      if (!(page in PAGES)) command.error(`error: no page is called ${page}`);
      const { url } = await credentials(globalOptions(command).profile);
      const address = `${url}${PAGES[page as keyof typeof PAGES]}`;
      print(command, { address }, () => address);
      if (printOnly) return;
      const program = process.platform === 'darwin' ? 'open' : 'xdg-open';
      // Without a browser, the printed address has to do.
      spawn(program, [address], { stdio: 'ignore', detached: true })
        .once('error', () => {})
        .unref();
    });
