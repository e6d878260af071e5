import { DefaultLogger, Runtime } from '@temporalio/worker';

// Suppresses the lines of starting and stopping workers. A process can have only one runtime.
if (Runtime._instance === undefined) Runtime.install({ logger: new DefaultLogger('ERROR') });
