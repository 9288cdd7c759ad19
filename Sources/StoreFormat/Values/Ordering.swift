internal import UbiquityContainers

/// The result of a comparison.
package enum Ordering: Sendable {
    case less, equal, greater
}
