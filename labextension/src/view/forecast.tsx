/** What a resume would compute, and which outputs it reaches: said before somebody asks for it. */
import type { Forecast } from '../crashing';
import { counted, number } from './words';

export function Expected({ forecast }: { forecast: Forecast }) {
  const { said, stages, left } = forecast;
  return (
    <div class="bd-forecast">
      {said.map((sentence, at) => (
        <p key={at} class="bd-busy">
          {sentence}
        </p>
      ))}
      {stages.length > 0 && (
        <details>
          <summary>{`The ${counted(stages.length + left, 'stage')}`}</summary>
          <div class="bd-scroll">
            <table class="bd-stages" aria-label="Stages">
              <thead>
                <tr>
                  <th scope="col">operators</th>
                  <th scope="col">partitions</th>
                  <th scope="col">computed</th>
                </tr>
              </thead>
              <tbody>
                {stages.map((stage, at) => (
                  <tr key={at}>
                    <td>
                      {stage.operators.map((operator, place) => (
                        <div key={place}>
                          <bdi>{operator}</bdi>
                        </div>
                      ))}
                    </td>
                    <td>{number(stage.partitions)}</td>
                    <td>{stage.computes === 0 ? 'none' : number(stage.computes)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          {left > 0 && <p class="bd-busy">{`and ${counted(left, 'more stage')}`}</p>}
        </details>
      )}
    </div>
  );
}
