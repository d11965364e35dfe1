import { useQuery } from '@tanstack/react-query';
import { QualityDocument } from '../../api/generated/graphql';
import { queryOf } from '../../api/query';
import { type Assertion, assertionsOf, hasPassedLast, type Metric, metricsOf, type Verdict } from '../../facts/quality';
import { instantText } from '../../facts/time';
import { HOME } from '../../location/location';
import type { DatasetPageProps } from '../../pages';
import styles from '../../styles/sections.module.css';
import { Badge } from '../Badge/Badge';
import { Instant } from '../Instant/Instant';
import { LineChart } from '../LineChart/LineChart';
import { Link } from '../Link/Link';
import { ErrorNote } from '../Note/Note';
import { Skeleton } from '../Skeleton/Skeleton';
import { Table } from '../Table/Table';
import own from './QualityPage.module.css';

/** Results of one check that are drawn, the latest. */
const SHOWN = 30;

/** The data quality of a dataset and its columns over time. */
export function QualityPage({ dataset }: DatasetPageProps) {
  const { data, error, isPending, refetch } = useQuery(queryOf(QualityDocument, { node: dataset }));
  const assertions = assertionsOf(data?.quality ?? []);
  const metrics = metricsOf(data?.quality ?? []);
  return (
    <div className={styles.tab}>
      <section className={styles.section} aria-labelledby="assertions">
        <h2 id="assertions">Assertions</h2>
        {error && <ErrorNote error={error} onRetry={() => refetch()} />}
        {isPending && <Skeleton label="Loading the results" rows={5} />}
        {data && <Summary assertions={assertions} metrics={metrics.length} />}
        {assertions.length > 0 && (
          <Table
            label="Assertions, those that failed last first"
            titles={['Assertion', 'Column', 'Last result', 'When', 'Over time, the oldest first']}
            rows={assertions.map((assertion) => ({ key: assertion.id, cells: cellsOf(assertion) }))}
          />
        )}
      </section>
      {metrics.length > 0 && (
        <section className={styles.section} aria-labelledby="metrics">
          <h2 id="metrics">Metrics</h2>
          <p className={styles.lead}>Numbers that producers measured in the data, one for each run.</p>
          <div className={own.metrics}>
            {metrics.map((metric) => (
              <MetricFigure key={metric.id} metric={metric} />
            ))}
          </div>
        </section>
      )}
    </div>
  );
}

function Summary({ assertions, metrics }: { assertions: readonly Assertion[]; metrics: number }) {
  if (assertions.length === 0)
    return (
      <p className={styles.lead}>
        No run stated an assertion about this dataset{metrics === 0 && ', and no metrics of its data'}. Tools state them
        in OpenLineage's facets dataQualityAssertions and dataQualityMetrics.
      </p>
    );
  const failed = assertions.filter((assertion) => !hasPassedLast(assertion)).length;
  return (
    <p className={styles.lead}>
      {(failed === 0 ? assertions.length : failed).toLocaleString('en')} of {assertions.length.toLocaleString('en')}{' '}
      {assertions.length === 1 ? 'assertion' : 'assertions'} {failed === 0 ? 'passed' : 'failed'} in the last check.
    </p>
  );
}

function cellsOf(assertion: Assertion) {
  const last = assertion.verdicts.at(-1);
  return [
    assertion.name,
    assertion.column ?? 'the dataset',
    last && <VerdictBadge key="last" verdict={last} />,
    last && <Instant key="when" at={last.at} relative />,
    <Verdicts key="verdicts" assertion={assertion} />,
  ];
}

function VerdictBadge({ verdict: { hasPassed } }: { verdict: Verdict }) {
  return hasPassed ? (
    <Badge tone="good" icon="check">
      passed
    </Badge>
  ) : (
    <Badge tone="bad" icon="warn">
      failed
    </Badge>
  );
}

/** One mark for each result. The sign differs as well as the colour, and a click opens the run. */
function Verdicts({ assertion: { name, verdicts } }: { assertion: Assertion }) {
  return (
    <ol className={own.verdicts} aria-label={`Results of ${name}, the oldest first`}>
      {verdicts.slice(-SHOWN).map(({ run, at, hasPassed }) => {
        const words = `${instantText(at)}: ${hasPassed ? 'passed' : 'failed'}`;
        return (
          <li key={`${run} ${at}`}>
            <Link
              to={{ ...HOME, page: 'run', item: run }}
              title={words}
              aria-label={words}
              className={hasPassed ? own.passed : own.failed}
            >
              {hasPassed ? '✓' : '✕'}
            </Link>
          </li>
        );
      })}
    </ol>
  );
}

function MetricFigure({ metric: { name, column, points } }: { metric: Metric }) {
  const shown = points.slice(-SHOWN);
  const values = shown.map(({ value }) => value);
  const [last, least, most] = [values.at(-1) ?? 0, Math.min(...values), Math.max(...values)].map((value) =>
    value.toLocaleString('en'),
  );
  const title = column === null ? name : `${name} of ${column}`;
  return (
    <figure className={own.metric}>
      <figcaption>
        <b>{title}</b>
        <span>{last}</span>
      </figcaption>
      {shown.length > 1 && (
        <LineChart
          label={`${title} in ${shown.length} runs: last ${last}, least ${least}, most ${most}`}
          points={shown}
        />
      )}
      <details>
        <summary>{shown.length > 1 ? `least ${least}, most ${most}` : 'measured once'}</summary>
        <ol className={own.points}>
          {shown.toReversed().map(({ run, at, value }) => (
            <li key={`${run} ${at}`}>
              <Link to={{ ...HOME, page: 'run', item: run }}>{instantText(at)}</Link>
              <span>{value.toLocaleString('en')}</span>
            </li>
          ))}
        </ol>
      </details>
    </figure>
  );
}
