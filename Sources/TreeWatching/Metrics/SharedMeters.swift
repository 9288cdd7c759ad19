import CoreMetrics
import Synchronization

/// The meters in use, which all recorders of a backend share.
///
/// A backend without meters of its own gets them from swift-metrics, where each one keeps a sum of its own: two with one
/// label would overwrite each other. A backend that is no object, such as that for Prometheus, keeps one sum for a label
/// itself.
enum SharedMeters {
    private struct Key: Hashable {
        let factory: ObjectIdentifier
        let label: String
        let dimensions: [String]
    }

    private struct Entry {
        weak var meter: Meter?
    }

    private static let entries = Mutex<[Key: Entry]>([:])

    /// Returns the meter of a label.
    ///
    /// - Parameters:
    ///   - label: the label.
    ///   - dimensions: the dimensions.
    ///   - factory: the backend, which the meter keeps, so that no other object takes its address meanwhile.
    /// - Returns: the meter that is in use, or a new one.
    static func meter(_ label: String, _ dimensions: [(String, String)], of factory: any MetricsFactory) -> Meter {
        func make() -> Meter { Meter(label: label, dimensions: dimensions, factory: factory) }
        guard type(of: factory) is AnyClass else { return make() }
        let key = Key(factory: ObjectIdentifier(factory as AnyObject), label: label, dimensions: dimensions.flatMap { [$0.0, $0.1] })
        return entries.withLock { entries in
            if let meter = entries[key]?.meter { return meter }
            entries = entries.filter { $0.value.meter != nil }
            let meter = make()
            entries[key] = Entry(meter: meter)
            return meter
        }
    }
}
