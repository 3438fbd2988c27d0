package tables;

import java.util.ArrayList;
import java.util.List;

/** mtrt: a scene of spheres with shadows and mirrors; vectors are objects. */
public final class RayTracer implements Driver.Program {
    private static final int SIZE = 400;

    @Override
    public long run() {
        Scene scene = new Scene();
        for (int i = 0; i < 25; i++) {
            double angle = i * 0.7;
            scene.add(new Sphere(new Vector(Math.cos(angle) * i * 0.25, Math.sin(angle) * i * 0.25, 6 + i % 5), 0.5, i % 3 * 0.3));
        }
        long sum = 0;
        for (int y = 0; y < SIZE; y++) for (int x = 0; x < SIZE; x++) sum += pixel(scene, x, y);
        return sum;
    }

    private static long pixel(Scene scene, int x, int y) {
        Vector direction = new Vector((x - SIZE / 2.0) / SIZE, (y - SIZE / 2.0) / SIZE, 1).normal();
        return (long) (scene.trace(new Ray(Vector.ZERO, direction), 3) * 255);
    }

    static final class Vector {
        static final Vector ZERO = new Vector(0, 0, 0);
        final double x;
        final double y;
        final double z;

        Vector(double x, double y, double z) {
            this.x = x;
            this.y = y;
            this.z = z;
        }

        Vector plus(Vector o) {
            return new Vector(x + o.x, y + o.y, z + o.z);
        }

        Vector minus(Vector o) {
            return new Vector(x - o.x, y - o.y, z - o.z);
        }

        Vector times(double f) {
            return new Vector(x * f, y * f, z * f);
        }

        double dot(Vector o) {
            return x * o.x + y * o.y + z * o.z;
        }

        Vector normal() {
            return times(1 / Math.sqrt(dot(this)));
        }
    }

    static final class Ray {
        final Vector origin;
        final Vector direction;

        Ray(Vector origin, Vector direction) {
            this.origin = origin;
            this.direction = direction;
        }

        Vector at(double distance) {
            return origin.plus(direction.times(distance));
        }
    }

    static final class Sphere {
        final Vector center;
        final double radius;
        final double mirror;

        Sphere(Vector center, double radius, double mirror) {
            this.center = center;
            this.radius = radius;
            this.mirror = mirror;
        }

        /** Returns the distance along the ray, infinite if the ray misses. */
        double hit(Ray ray) {
            Vector to = center.minus(ray.origin);
            double along = to.dot(ray.direction);
            double off = radius * radius - to.dot(to) + along * along;
            if (off < 0 || along < 0) return Double.POSITIVE_INFINITY;
            double distance = along - Math.sqrt(off);
            return distance > 1e-6 ? distance : Double.POSITIVE_INFINITY;
        }
    }

    static final class Scene {
        private static final Vector LIGHT = new Vector(-1, -2, -1.5).normal();
        private final List<Sphere> spheres = new ArrayList<>();

        void add(Sphere sphere) {
            spheres.add(sphere);
        }

        double trace(Ray ray, int depth) {
            Sphere nearest = nearest(ray);
            if (nearest == null) return 0.1;
            Vector point = ray.at(nearest.hit(ray));
            Vector normal = point.minus(nearest.center).normal();
            double light = shadowed(point) ? 0.1 : Math.max(0.1, normal.dot(LIGHT));
            if (nearest.mirror == 0 || depth == 0) return light;
            Vector away = ray.direction.minus(normal.times(2 * normal.dot(ray.direction)));
            return light * (1 - nearest.mirror) + nearest.mirror * trace(new Ray(point, away.normal()), depth - 1);
        }

        private boolean shadowed(Vector point) {
            return nearest(new Ray(point, LIGHT)) != null;
        }

        private Sphere nearest(Ray ray) {
            Sphere nearest = null;
            double best = Double.POSITIVE_INFINITY;
            for (int i = 0; i < spheres.size(); i++) {
                double distance = spheres.get(i).hit(ray);
                if (distance < best) {
                    best = distance;
                    nearest = spheres.get(i);
                }
            }
            return nearest;
        }
    }
}
