import { DefaultLogger, Runtime } from '@temporalio/worker';

// The lines of each worker that starts and stops would hide what a failed test prints. One runtime serves a process.
if (Runtime._instance === undefined) Runtime.install({ logger: new DefaultLogger('ERROR') });
