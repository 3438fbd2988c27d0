package programs;

import org.apache.commons.math3.analysis.MultivariateFunction;
import org.apache.commons.math3.complex.Complex;
import org.apache.commons.math3.linear.Array2DRowRealMatrix;
import org.apache.commons.math3.linear.EigenDecomposition;
import org.apache.commons.math3.linear.LUDecomposition;
import org.apache.commons.math3.linear.RealMatrix;
import org.apache.commons.math3.linear.SingularValueDecomposition;
import org.apache.commons.math3.ode.FirstOrderDifferentialEquations;
import org.apache.commons.math3.ode.nonstiff.DormandPrince853Integrator;
import org.apache.commons.math3.optim.InitialGuess;
import org.apache.commons.math3.optim.MaxEval;
import org.apache.commons.math3.optim.nonlinear.scalar.GoalType;
import org.apache.commons.math3.optim.nonlinear.scalar.ObjectiveFunction;
import org.apache.commons.math3.optim.nonlinear.scalar.noderiv.NelderMeadSimplex;
import org.apache.commons.math3.optim.nonlinear.scalar.noderiv.SimplexOptimizer;
import org.apache.commons.math3.random.Well19937c;
import org.apache.commons.math3.stat.descriptive.DescriptiveStatistics;
import org.apache.commons.math3.transform.DftNormalization;
import org.apache.commons.math3.transform.FastFourierTransformer;
import org.apache.commons.math3.transform.TransformType;

/** Commons Math: matrices, an equation, a minimum, a Fourier transform, and random numbers with a fixed seed. */
public final class Mathematics implements Driver.Workload {
    @Override
    public String work() {
        Well19937c random = new Well19937c(42);
        double[][] data = new double[12][12];
        for (double[] row : data) for (int i = 0; i < row.length; i++) row[i] = random.nextGaussian();
        RealMatrix matrix = new Array2DRowRealMatrix(data);
        double determinant = new LUDecomposition(matrix).getDeterminant();
        double norm = new SingularValueDecomposition(matrix).getNorm();
        double[] values = new EigenDecomposition(matrix.multiply(matrix.transpose())).getRealEigenvalues();
        MultivariateFunction valley = x -> Math.pow(1 - x[0], 2) + 100 * Math.pow(x[1] - x[0] * x[0], 2);
        double minimum = new SimplexOptimizer(1e-8, 1e-10).optimize(new MaxEval(2000), new ObjectiveFunction(valley),
            GoalType.MINIMIZE, new InitialGuess(new double[] {-1.2, 1}), new NelderMeadSimplex(2)).getValue();
        double[] circle = {1, 0};
        new DormandPrince853Integrator(1e-8, 1, 1e-9, 1e-9).integrate(new FirstOrderDifferentialEquations() {
            @Override
            public int getDimension() {
                return 2;
            }

            @Override
            public void computeDerivatives(double t, double[] y, double[] slope) {
                slope[0] = -y[1];
                slope[1] = y[0];
            }
        }, 0, circle, 10, circle);
        Complex[] wave = new Complex[128];
        for (int i = 0; i < wave.length; i++) wave[i] = new Complex(random.nextDouble());
        Complex[] spectrum = new FastFourierTransformer(DftNormalization.STANDARD).transform(wave, TransformType.FORWARD);
        DescriptiveStatistics statistics = new DescriptiveStatistics(values);
        for (Complex it : spectrum) statistics.addValue(it.abs());
        return determinant + " " + norm + " " + minimum + " " + circle[0] + " " + statistics.getKurtosis();
    }
}
