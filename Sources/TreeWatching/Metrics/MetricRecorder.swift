package import CoreMetrics
import Synchronization

/// Records the metrics of one watcher, store or client, with the dimensions that all of them have.
///
/// The backend is the one that swift-metrics has when the recorder is made, such as that of `withMetricsFactory`. If
/// there is none yet, the app may still choose one: it is looked up again at each value, and earlier values of counters
/// and timers are lost.
///
/// The level of a gauge is a sum over recorders, to which each adds its own. A recorder takes its part away when it is
/// released.
package final class MetricRecorder: Sendable {
    package typealias Dimensions = [UbiquityMetric.Dimension: String]

    /// A metric with the values of its dimensions.
    private struct Key: Hashable {
        let metric: UbiquityMetric
        let dimensions: Dimensions

        /// The dimensions in the documented order.
        var pairs: [(String, String)] { metric.dimensions.map { ($0.rawValue, dimensions[$0]!) } }
    }

    /// The contribution to a gauge: as it is, and as the backend has been told.
    private struct Level {
        var present = 0
        var told = 0
        var meter: Meter?
    }

    private struct State {
        /// The backend; nil while swift-metrics has none.
        var factory: (any MetricsFactory)?
        var counters: [Key: Counter] = [:]
        var timers: [Key: CoreMetrics.Timer] = [:]
        var levels: [Key: Level] = [:]
    }

    private let dimensions: Dimensions
    private let state: Mutex<State>

    /// Makes a recorder.
    ///
    /// - Parameters:
    ///   - dimensions: the dimensions that all values have.
    ///   - factory: the backend.
    package init(_ dimensions: Dimensions = [:], factory: any MetricsFactory = MetricsSystem.factory) {
        self.dimensions = dimensions
        state = Mutex(State(factory: Self.backend(factory)))
    }

    /// Makes another recorder with this one's backend, and levels of its own.
    ///
    /// - Parameter dimensions: the dimensions that all values have; nil for this one's.
    /// - Returns: the recorder.
    package func another(_ dimensions: Dimensions? = nil) -> MetricRecorder {
        MetricRecorder(dimensions ?? self.dimensions, factory: state.withLock { $0.factory } ?? NOOPMetricsHandler.instance)
    }

    deinit { endLevels() }

    /// Takes this recorder's part of all gauges away.
    package func endLevels() {
        state.withLock { state in
            for key in state.levels.keys { state.levels[key]!.present = 0 }
            Self.tell(&state)
        }
    }

    /// Whether there is a backend; without one, nothing needs to be read only to be recorded.
    package var isActive: Bool { state.withLock { Self.resolve(&$0) != nil } }

    /// Adds to a counter.
    ///
    /// - Parameters:
    ///   - metric: a metric of the kind `counter`.
    ///   - amount: the increment; nothing is recorded for 0.
    ///   - dimensions: the metric's dimensions that the recorder does not have.
    package func count(_ metric: UbiquityMetric, by amount: Int = 1, _ dimensions: Dimensions = [:]) {
        guard amount > 0 else { return }
        let counter = state.withLock { state -> Counter? in
            guard let factory = Self.resolve(&state) else { return nil }
            let key = key(metric, .counter, dimensions)
            if let known = state.counters[key] { return known }
            let counter = Counter(label: metric.label, dimensions: key.pairs, factory: factory)
            state.counters[key] = counter
            return counter
        }
        counter?.increment(by: amount)
    }

    /// Records a duration.
    ///
    /// - Parameters:
    ///   - metric: a metric of the kind `timer`.
    ///   - duration: the duration; one below zero, as between two clocks, counts as zero.
    ///   - dimensions: the metric's dimensions that the recorder does not have.
    package func time(_ metric: UbiquityMetric, _ duration: Duration, _ dimensions: Dimensions = [:]) {
        let timer = state.withLock { state -> CoreMetrics.Timer? in
            guard let factory = Self.resolve(&state) else { return nil }
            let key = key(metric, .timer, dimensions)
            if let known = state.timers[key] { return known }
            let timer = CoreMetrics.Timer(label: metric.label, dimensions: key.pairs, preferredDisplayUnit: .seconds, factory: factory)
            state.timers[key] = timer
            return timer
        }
        timer?.recordNanoseconds(duration.nanoseconds)
    }

    /// Sets this recorder's part of a gauge.
    ///
    /// - Parameters:
    ///   - metric: a metric of the kind `gauge`.
    ///   - level: the part, which is 0 at first.
    ///   - dimensions: the metric's dimensions that the recorder does not have.
    package func set(_ metric: UbiquityMetric, to level: Int, _ dimensions: Dimensions = [:]) {
        let key = key(metric, .gauge, dimensions)
        state.withLock { state in
            state.levels[key, default: Level()].present = level
            if Self.resolve(&state) != nil { Self.tell(&state) }
        }
    }

    private func key(_ metric: UbiquityMetric, _ kind: UbiquityMetric.Kind, _ more: Dimensions) -> Key {
        let key = Key(metric: metric, dimensions: dimensions.isEmpty ? more : dimensions.merging(more) { $1 })
        assert(
            metric.kind == kind && Set(key.dimensions.keys) == Set(metric.dimensions),
            "\(metric) is a \(metric.kind) with \(metric.dimensions), not a \(kind) with \(key.dimensions.keys)")
        return key
    }

    // MARK: The backend

    /// The backend that a factory is; nil for swift-metrics' placeholder.
    private static func backend(_ factory: any MetricsFactory) -> (any MetricsFactory)? {
        // A cast would take most of the time of a value that is not recorded.
        type(of: factory) == NOOPMetricsHandler.self ? nil : factory
    }

    /// Returns the backend, and tells a new one of the levels so far.
    private static func resolve(_ state: inout State) -> (any MetricsFactory)? {
        if let factory = state.factory { return factory }
        guard let factory = backend(MetricsSystem.factory) else { return nil }
        state.factory = factory
        tell(&state)
        return factory
    }

    /// Tells the backend of the levels that have changed, which is done under the lock, so that it hears of them in order.
    private static func tell(_ state: inout State) {
        guard let factory = state.factory else { return }
        for (key, var level) in state.levels where level.meter == nil || level.present != level.told {
            let meter = level.meter ?? SharedMeters.meter(key.metric.label, key.pairs, of: factory)
            if level.present >= level.told {
                meter.increment(by: Double(level.present - level.told))
            } else {
                meter.decrement(by: Double(level.told - level.present))
            }
            (level.told, level.meter) = (level.present, meter)
            state.levels[key] = level
        }
    }
}
