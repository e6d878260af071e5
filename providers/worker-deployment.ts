import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { isNotFound } from './grpc-status.ts';

/** The worker deployment of the product. Its versions are the builds of `WORKER_BUILD_ID`. */
export const DEPLOYMENT = 'linepace';

/** The builds of the deployment, and where Temporal sends tasks. */
export interface Routing {
  /** New tasks go to this build; null: to workers without a build id. */
  current: string | null;
  /** The build that gets a share of the workflows instead, and the share. */
  ramping: { build: string; percent: number } | null;
  /** Whether anybody has ever set a current build. */
  isDecided: boolean;
  /** The builds that workers have polled for, and whether workflows still depend on them. */
  builds: ReadonlyMap<string, 'draining' | 'drained' | null>;
  /** A token that makes a change fail if somebody else changed the routing in between. */
  token: Uint8Array;
}

/** The author of the change, as shown in Temporal. */
export interface RoutingChange {
  identity: string;
  /** The routing on which the change is based; null: any. */
  basedOn: Routing | null;
}

export interface WorkerDeployment {
  /** @returns null if no worker with a build id has polled yet. */
  routing(): Promise<Routing | null>;
  /** @throws a gRPC error `FAILED_PRECONDITION` if no worker of the build polls a queue that the current build serves. */
  setCurrent(build: string, change: RoutingChange): Promise<void>;
  /** Like `setCurrent`, for a share of the workflows. @param build null: no build gets a share. */
  setRamping(build: string | null, percent: number, change: RoutingChange): Promise<void>;
}

const CALL_TIMEOUT_MS = 15_000;

const { VERSION_DRAINAGE_STATUS_DRAINING: DRAINING, VERSION_DRAINAGE_STATUS_DRAINED: DRAINED } =
  proto.temporal.api.enums.v1.VersionDrainageStatus;

export function createWorkerDeployment(
  connection: Client['connection'],
  namespace: string,
): WorkerDeployment {
  const { workflowService } = connection;
  const call = <T>(work: () => Promise<T>): Promise<T> =>
    connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, work);
  /** `version` is the name of a version on servers before 1.29. */
  const versionOf = (buildId: string) => ({
    namespace,
    deploymentName: DEPLOYMENT,
    buildId,
    version: `${DEPLOYMENT}.${buildId}`,
  });
  const based = ({ identity, basedOn }: RoutingChange) => ({
    identity,
    ...(basedOn && { conflictToken: basedOn.token }),
  });

  return {
    async routing() {
      try {
        const { workerDeploymentInfo: info, conflictToken } = await call(() =>
          workflowService.describeWorkerDeployment({ namespace, deploymentName: DEPLOYMENT }),
        );
        const { routingConfig: config, versionSummaries } = info ?? {};
        const ramping = config?.rampingDeploymentVersion?.buildId;
        return {
          current: config?.currentDeploymentVersion?.buildId ?? null,
          ramping: ramping ? { build: ramping, percent: config?.rampingVersionPercentage ?? 0 } : null,
          isDecided: Boolean(config?.currentVersionChangedTime),
          builds: new Map(
            (versionSummaries ?? []).map(({ deploymentVersion, drainageInfo }) => [
              deploymentVersion?.buildId ?? '',
              drainageOf(drainageInfo?.status),
            ]),
          ),
          token: conflictToken,
        };
      } catch (error) {
        if (isNotFound(error)) return null;
        throw error;
      }
    },
    async setCurrent(build, change) {
      await call(() =>
        workflowService.setWorkerDeploymentCurrentVersion({ ...versionOf(build), ...based(change) }),
      );
    },
    async setRamping(build, percentage, change) {
      await call(() =>
        workflowService.setWorkerDeploymentRampingVersion({
          ...(build === null ? { namespace, deploymentName: DEPLOYMENT } : versionOf(build)),
          ...based(change),
          percentage,
        }),
      );
    },
  };
}

function drainageOf(status: number | null | undefined): 'draining' | 'drained' | null {
  if (status === DRAINING) return 'draining';
  return status === DRAINED ? 'drained' : null;
}
