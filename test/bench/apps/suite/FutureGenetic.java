package suite;

import io.jenetics.DoubleChromosome;
import io.jenetics.DoubleGene;
import io.jenetics.GaussianMutator;
import io.jenetics.Genotype;
import io.jenetics.MeanAlterer;
import io.jenetics.Phenotype;
import io.jenetics.SinglePointCrossover;
import io.jenetics.TournamentSelector;
import io.jenetics.engine.Engine;
import io.jenetics.engine.EvolutionResult;
import io.jenetics.util.RandomRegistry;
import java.util.Random;
import tables.Driver;

/** future-genetic: Jenetics evolves the coefficients of a polynomial, in the calling thread. The benchmark uses a pool. */
public final class FutureGenetic implements Driver.Program {
    private static final int POINTS = 24;

    private static double error(Genotype<DoubleGene> genotype) {
        double sum = 0;
        for (int i = 0; i < POINTS; i++) {
            double x = i / (double) POINTS;
            double y = 0;
            for (DoubleGene gene : genotype.chromosome()) y = y * x + gene.doubleValue();
            double wanted = 1 + x * (-3 + x * (2 + x * (5 - 4 * x)));
            sum += (y - wanted) * (y - wanted);
        }
        return sum;
    }

    @Override
    public long run() {
        return RandomRegistry.with(new Random(5), random -> {
            Engine<DoubleGene, Double> engine = Engine.builder(FutureGenetic::error, DoubleChromosome.of(-6, 6, 5))
                .executor(Runnable::run)
                .populationSize(150)
                .minimizing()
                .offspringSelector(new TournamentSelector<>(4))
                .alterers(new GaussianMutator<>(0.2), new SinglePointCrossover<>(0.3), new MeanAlterer<>(0.4))
                .build();
            Phenotype<DoubleGene, Double> best = engine.stream().limit(800).collect(EvolutionResult.toBestPhenotype());
            return Double.doubleToLongBits(best.fitness()) ^ best.generation();
        });
    }
}
