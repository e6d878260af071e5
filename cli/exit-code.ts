/** The exit codes of all commands. */
export const EXIT = {
  /** The command succeeded. */
  OK: 0,
  /** The API refused the request, or part of the work failed. */
  FAILED: 1,
  /** The command line is wrong. */
  USAGE: 2,
  /** Not signed in, or the server does not respond. */
  UNAVAILABLE: 3,
} as const;

/** Ends the command with a message for people. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.FAILED) {
    super(message);
    this.exitCode = exitCode;
  }
}
