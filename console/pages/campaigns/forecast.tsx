import { useLingui } from '@lingui/react/macro';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useDeferredValue } from 'react';
import { request } from '#console/api/client.ts';
import { useRead } from '#console/api/queries.ts';
import { useTimeZone } from '#console/api/workspace.ts';
import { type Campaign, isMessage } from './campaign.ts';
import { bodyOf, type CampaignDraft } from './campaign-draft.ts';
import { forecastSentence, tooEarly } from './forecast-sentence.ts';

const STALE_MS = 60_000;

/** When the campaign that is being written would be done. Shows nothing while the API has no answer. */
export function DraftForecast({ draft }: { draft: CampaignDraft }) {
  const zone = useTimeZone();
  const list = useRead('GET /api/lists', {}).data?.lists.find(({ _id }) => _id === draft.listId);
  const segments = useRead(
    'GET /api/segments',
    { query: { limit: 200 } },
    { enabled: draft.segmentId !== '' },
  );
  const segment = segments.data?.segments.find(({ _id }) => _id === draft.segmentId);
  const { steps, eligibleLineIds, poolId, stickinessPolicy, finishBy, ...sending } = bodyOf(draft);
  const messages = steps.filter(isMessage);
  // How many leads take which branch is not known before a campaign is saved.
  const isPlain = messages.length === steps.length;
  const { sendWindowStart, sendWindowEnd, allowedDaysOfWeek, timezone } = sending;
  const body = useDeferredValue({
    newConversations: (draft.segmentId === '' ? list?.leadCount : segment?.count) ?? 0,
    steps: messages.map(({ delay, messageType }) => ({ delay, messageType })),
    ...(poolId === null ? { stickinessPolicy } : { poolId }),
    ...(eligibleLineIds && { lineIds: eligibleLineIds }),
    ...(sendWindowStart !== null && { sendWindowStart }),
    ...(sendWindowEnd !== null && { sendWindowEnd }),
    ...(allowedDaysOfWeek && { allowedDaysOfWeek }),
    ...(timezone !== null && { timezone }),
  });
  const forecast = useQuery({
    // Texts do not affect a forecast, so drafts that differ only in them share a key.
    queryKey: ['POST /api/forecast', body],
    queryFn: ({ signal }) => request('POST /api/forecast', { body }, { signal }),
    enabled: isPlain && body.newConversations > 0,
    placeholderData: keepPreviousData,
    staleTime: STALE_MS,
    retry: false,
  });
  const sentence = forecast.data && forecastSentence(forecast.data, zone);
  if (!sentence || !isPlain || body.newConversations === 0) return null;
  const late = tooEarly(finishBy, forecast.data.completesAt, zone);
  return (
    <Sentence warns={late !== null}>{[sentence, late].filter((one) => one !== null).join(' ')}</Sentence>
  );
}

/** When the campaign will be done. Shows nothing while the API has no answer. */
export function CampaignForecast({ campaign: { _id } }: { campaign: Campaign }) {
  const zone = useTimeZone();
  const { data } = useQuery({
    queryKey: ['POST /api/campaigns/{id}/forecast', _id],
    queryFn: ({ signal }) =>
      request('POST /api/campaigns/{id}/forecast', { params: { id: _id } }, { signal }),
    staleTime: STALE_MS,
    retry: false,
  });
  const sentence = data && forecastSentence(data, zone);
  return sentence ? <Sentence warns={data.finishBy?.isPossible === false}>{sentence}</Sentence> : null;
}

function Sentence({ warns, children }: { warns: boolean; children: string }) {
  const { t } = useLingui();
  return (
    <p
      role="status"
      aria-label={t`Forecast`}
      className={`rounded-lg px-3 py-2 ${warns ? 'bg-warn-soft text-warn' : 'bg-accent-soft text-accent-ink'}`}
    >
      {children}
    </p>
  );
}
