import { ROOT_CONTEXT, SpanKind } from '@opentelemetry/api';
import { SamplingDecision, TraceIdRatioBasedSampler } from '@opentelemetry/sdk-trace';
import { expect, test } from 'vitest';
import { messageTraceId } from '#db/connection/message-traces.ts';
import { newId } from '#domain/base/ids.ts';
import { byHash } from './tracing.ts';

const MESSAGES = 10_000;

test.each([0, 0.1, 0.5, 1])(
  'the traces of a share of %f of the messages of a process are recorded',
  (ratio) => {
    const sampler = byHash(new TraceIdRatioBasedSampler(ratio));
    const sampled = Array.from({ length: MESSAGES }, () => {
      const id = messageTraceId(newId());
      return sampler.shouldSample(ROOT_CONTEXT, id, 'message accepted', SpanKind.INTERNAL, {}, []).decision;
    }).filter((decision) => decision === SamplingDecision.RECORD_AND_SAMPLED);
    expect(sampled.length / MESSAGES).toBeCloseTo(ratio, 1);
  },
);
