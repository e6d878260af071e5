import { spawn } from 'node:child_process';
import { Argument, Command } from 'commander';
import { globalOptions, print } from '../output.ts';
import { credentials } from '../profiles.ts';

const PAGES = { console: '/console', docs: '/docs' } as const;

export const open = (): Command =>
  new Command('open')
    .description('Open the console or the API reference in the browser.')
    .addArgument(new Argument('[page]').choices(Object.keys(PAGES)).default('console'))
    .option('--print-only', 'print the address only')
    .action(async (page: keyof typeof PAGES, { printOnly }: { printOnly?: boolean }, command: Command) => {
      const { url } = await credentials(globalOptions(command).profile);
      const address = `${url}${PAGES[page]}`;
      print(command, { address }, () => address);
      if (printOnly) return;
      const program = process.platform === 'darwin' ? 'open' : 'xdg-open';
      // Without a browser, the printed address has to do.
      spawn(program, [address], { stdio: 'ignore', detached: true })
        .once('error', () => {})
        .unref();
    });
