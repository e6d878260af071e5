import { t } from '@lingui/core/macro';
import { useState } from 'react';
import { TIME_ZONES } from '#console/lib/time-zones.ts';
import { SelectField, TextField } from './field.tsx';

const OWN_ZONE = new Intl.DateTimeFormat().resolvedOptions().timeZone;
const OWN_COUNTRY = new Intl.Locale(navigator.language).maximize().region ?? 'US';

/** The fields `timezone` and `country` of a new workspace. By default those of the browser. */
export function ZoneAndCountry({ issue }: { issue: (name: string) => string | undefined }) {
  const [country, setCountry] = useState(OWN_COUNTRY);
  return (
    <>
      <SelectField
        label={t`Time zone`}
        name="timezone"
        options={TIME_ZONES}
        defaultValue={OWN_ZONE}
        hint={t`Send windows, caps and reports follow it.`}
        error={issue('timezone')}
      />
      <TextField
        label={t`Country`}
        name="country"
        required
        maxLength={2}
        className="uppercase"
        value={country}
        onChange={(event) => setCountry(event.target.value.toUpperCase())}
        hint={t`Two letters. It is assumed for phone numbers without a country code.`}
        error={issue('country')}
      />
    </>
  );
}
