/** Messages that fall due at one time. */
export interface Cohort {
  due: number;
  count: number;
  /** The original number of messages. */
  added: number;
}

/** Waiting messages by the time at which they are due, in milliseconds. Nearly all are added in that order. */
export class Cohorts {
  private readonly cohorts: Cohort[] = [];
  private head = 0;
  total = 0;

  add(due: number, count: number): void {
    if (count <= 0) return;
    this.total += count;
    const last = this.cohorts.at(-1);
    if (last && this.cohorts.length > this.head && last.due === due) {
      last.count += count;
      last.added += count;
    } else if (!last || last.due < due) this.cohorts.push({ due, count, added: count });
    else this.cohorts.splice(this.from(due), 0, { due, count, added: count });
  }

  /** The first cohort that is due at `since` or later. */
  first(since: number): Cohort | undefined {
    while (this.cohorts[this.head]?.count === 0) this.head += 1;
    let index = since === 0 ? this.head : this.from(since);
    while (this.cohorts[index]?.count === 0) index += 1;
    return this.cohorts[index];
  }

  take(cohort: Cohort, count: number): void {
    cohort.count -= count;
    this.total -= count;
  }

  private from(due: number): number {
    let [low, high] = [this.head, this.cohorts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.cohorts[middle]?.due ?? 0) < due) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
