import { describe, expect, it } from 'vitest';
import { type FallbackConfig, missingField, patchFallbackConfig } from './fallback-config.ts';

const TWILIO: FallbackConfig = {
  enabled: true,
  provider: 'twilio',
  accountSid: 'AC1',
  fromNumber: '+14155550100',
  messagingServiceSid: null,
  defaultMessage: 'Hello',
};

describe('patchFallbackConfig', () => {
  it('enables a new configuration and leaves omitted fields empty', () => {
    expect(patchFallbackConfig(null, { provider: 'twilio' })).toEqual({
      enabled: true,
      provider: 'twilio',
      accountSid: null,
      fromNumber: null,
      messagingServiceSid: null,
      defaultMessage: null,
    });
  });

  it('requires a provider for a new configuration', () => {
    expect(patchFallbackConfig(null, { accountSid: 'AC1' })).toBeNull();
  });

  it('keeps omitted fields and clears those that are null', () => {
    expect(patchFallbackConfig(TWILIO, { enabled: false, defaultMessage: null })).toEqual({
      ...TWILIO,
      enabled: false,
      defaultMessage: null,
    });
  });

  it('never includes the token', () => {
    expect(patchFallbackConfig(TWILIO, { authToken: 'secret' })).toEqual(TWILIO);
  });
});

describe('missingField', () => {
  it.each([
    { config: {}, field: null },
    { config: { accountSid: null }, field: 'accountSid' },
    { config: { hasAuthToken: false }, field: 'authToken' },
    { config: { fromNumber: null }, field: 'fromNumber' },
    { config: { fromNumber: null, messagingServiceSid: 'MG1' }, field: null },
    { config: { accountSid: null, enabled: false }, field: null },
    { config: { accountSid: null, provider: 'simulated' as const }, field: null },
  ])('returns $field for $config', ({ config, field }) => {
    expect(missingField({ ...TWILIO, hasAuthToken: true, ...config })?.field ?? null).toBe(field);
  });
});
