import { Argument, Command } from 'commander';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

export const completion = (): Command =>
  new Command('completion')
    .description('Print the completion of commands for a shell: `source <(linepace completion bash)`.')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .action((shell: Shell, _options, command: Command) => {
      const names = (command.parent?.commands ?? []).map((known) => known.name());
      console.log(scriptOf(shell, names));
    });

function scriptOf(shell: Shell, names: readonly string[]): string {
  const words = names.join(' ');
  if (shell === 'fish') return `complete -c linepace -f -n __fish_use_subcommand -a '${words}'`;
  if (shell === 'zsh')
    return `#compdef linepace\n_linepace() { (( CURRENT == 2 )) && compadd ${words} || _files }\ncompdef _linepace linepace`;
  return `_linepace() { [ "$COMP_CWORD" = 1 ] && COMPREPLY=($(compgen -W '${words}' -- "\${COMP_WORDS[1]}")) || COMPREPLY=(); }\ncomplete -o default -F _linepace linepace`;
}
