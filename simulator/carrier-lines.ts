import { createHash } from 'node:crypto';
import Router from '@koa/router';
import { getCountryCallingCode, isSupportedCountry } from 'libphonenumber-js/max';
import type { Context } from 'koa';
import { AllocateRequest, type ErrorCode, InboundSettings } from '#providers/carriers/simulated-protocol.ts';
import { behaviourOf } from './behaviour.ts';
import { isAuthorized } from './carrier.ts';
import type { SimulatorContext, SimulatorPart } from './part.ts';

/** An allocated line and its callback URL, once it is set. */
interface CarrierLine {
  lineId: string;
  address: string;
  callbackUrl: string | null;
}

/**
 * Allocates lines. The requested area code or address selects the behaviour, like a recipient's
 * last digits: `0002` and `fail@` are rejected permanently, `0003` fails twice.
 */
export function simulateCarrierLines(simulator: SimulatorContext): SimulatorPart {
  const journal = simulator.openJournal<CarrierLine>('carrier-lines');
  const lines = new Map(journal.takePast().map((line) => [line.lineId, line]));
  const refusals = new Map<string, number>();
  const routes = new Router();

  routes.use('/carrier/lines', async (context, next) => {
    if (isAuthorized(context.get('authorization'), simulator.secret)) return next();
    fail(context, 401, 'unauthorized', 'Wrong or missing secret');
  });

  routes.post('/carrier/lines', (context) => {
    const order = AllocateRequest.parse(context.request.body);
    const known = lines.get(order.lineId);
    if (!known) {
      const behaviour = behaviourOf(order.channel === 'email' ? (order.email ?? '') : (order.areaCode ?? ''));
      if (behaviour === 'refuse' || !isSupportedCountry(order.country)) {
        return fail(context, 422, 'rejected', 'No such line is available');
      }
      const before = refusals.get(order.lineId) ?? 0;
      if (behaviour === 'fail_twice' && before < 2) {
        refusals.set(order.lineId, before + 1);
        return fail(context, 503, 'temporarily_unavailable', 'Temporarily unavailable');
      }
      keep({ lineId: order.lineId, address: addressFor(order), callbackUrl: null });
    }
    context.status = 201;
    context.body = { address: lines.get(order.lineId)?.address };
  });

  routes.put('/carrier/lines/:lineId/inbound', (context) => {
    const { callbackUrl } = InboundSettings.parse(context.request.body);
    const lineId = context.params['lineId'] ?? '';
    // A line that was not allocated here has its own address.
    keep({ ...(lines.get(lineId) ?? { lineId, address: '' }), callbackUrl });
    context.status = 204;
  });

  function keep(line: CarrierLine): void {
    journal.append(line);
    lines.set(line.lineId, line);
  }

  return {
    routes,
    async stop() {
      journal.close();
    },
  };
}

/** Derived from the line's id; never a number whose last digits select a behaviour. */
function addressFor({ lineId, channel, email, firstName, areaCode, country }: AllocateRequest): string {
  const draw = createHash('sha256').update(lineId).digest();
  if (channel === 'email') {
    const name = firstName.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
    return email?.toLowerCase() ?? `${name === '' ? 'line' : name}.${lineId.slice(-8)}@lines.example`;
  }
  const digits = (offset: number, from: number, count: number): string =>
    String(from + (draw.readUInt32BE(offset) % count));
  const lastDigits = digits(0, 1000, 9000);
  if (country !== 'US' && country !== 'CA') {
    return `+${isSupportedCountry(country) ? getCountryCallingCode(country) : ''}7${digits(4, 1000, 9000)}${lastDigits}`;
  }
  const area = /^[2-9]\d\d$/.test(areaCode ?? '') ? areaCode : '415';
  return `+1${area}${digits(4, 200, 800)}${lastDigits}`;
}

function fail(context: Context, status: number, code: ErrorCode, message: string): void {
  context.status = status;
  context.body = { error: { code, message } };
}
