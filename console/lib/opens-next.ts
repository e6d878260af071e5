const STORED = 'linepace.opens next';

/** Whether the next conversation is opened once one is closed or snoozed. */
export const opensNext = (): boolean => localStorage.getItem(STORED) !== 'off';
export const setOpensNext = (opens: boolean): void => localStorage.setItem(STORED, opens ? 'on' : 'off');
