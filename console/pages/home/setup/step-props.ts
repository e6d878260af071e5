/** What each of the first steps gets. */
export interface StepProps {
  /** Whether the API says that it is done. */
  done: boolean;
}
