import { type ActivityInterceptorsFactory, Worker, type WorkerOptions } from '@temporalio/worker';
import { vi } from 'vitest';

/** Intercepts the activities of every worker that starts after this call, before the product's own interceptors. */
export function interceptActivities(interceptor: ActivityInterceptorsFactory): void {
  const create = Worker.create.bind(Worker);
  vi.spyOn(Worker, 'create').mockImplementation((options: WorkerOptions) =>
    create({
      ...options,
      interceptors: {
        ...options.interceptors,
        activity: [interceptor, ...(options.interceptors?.activity ?? [])],
      },
    }),
  );
}
