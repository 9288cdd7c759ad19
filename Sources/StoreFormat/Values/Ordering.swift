internal import UbiquityContainers

/// The outcome of a comparison.
package enum Ordering: Sendable {
    case less, equal, greater
}
