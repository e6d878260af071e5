import { IMESSAGE_CAPABILITIES } from '#domain/lines/capability.ts';
import { checkSecret } from '../callback-secret.ts';
import type { Carrier } from '../carrier.ts';
import type { HostedCarrierOptions } from '../hosted-api.ts';
import { createLinqApi, LinqConfig } from './api.ts';
import { createConnection, GUIDE } from './connection.ts';
import { createSending } from './sending.ts';
import { readWebhook } from './webhook.ts';

/** iMessage, RCS and SMS by Linq's Partner API (docs.linqapp.com), version 3. */
export function linqCarrier(options: HostedCarrierOptions = {}): Carrier<LinqConfig> {
  const api = createLinqApi(options);
  return {
    name: 'linq',
    channels: ['imessage', 'sms'],
    capabilities: (channel) =>
      channel === 'imessage'
        ? IMESSAGE_CAPABILITIES.filter((one) => one !== 'unsend' && one !== 'voice_notes')
        : ['attachments'],
    reactsWithEmoji: true,
    config: LinqConfig,
    callbackSecret: 'callbackSecret',
    servers: api.servers,
    timeoutMs: api.timeoutMs,
    guide: GUIDE,
    ...createConnection(api),
    ...createSending(api),

    account: ({ apiKey, baseUrl, fromNumber }) => JSON.stringify([apiKey, baseUrl, fromNumber]),

    checkCallback: ({ callbackSecret }, head) => checkSecret(callbackSecret, head),

    async parseCallback(config, callback) {
      checkSecret(config.callbackSecret, callback);
      return readWebhook(api, config, callback.rawBody);
    },

    openMedia: (_config, url, signal, from) => api.openMedia(url, signal, from),
    close: api.close,
  };
}
