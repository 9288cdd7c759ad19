import Foundation
import Synchronization
package import UbiquityContainers

/// The device home whose account and containers the calls of this module use.
///
/// Cocoa's calls name no home, so it is one for the process: the user's home, unless a test has set another.
package enum UbiquityFoundationHome {
    private static let other = Mutex<DeviceHome?>(nil)

    /// The home in use.
    ///
    /// - Throws: `ContainerError` when the environment names no home.
    package static var current: DeviceHome {
        get throws(ContainerError) {
            if let home = other.withLock({ $0 }) { return home }
            return try DeviceHome.standard()
        }
    }

    /// Uses another home from now on; nil for the user's.
    package static func use(_ home: DeviceHome?) { other.withLock { $0 = home } }

    /// Returns the container of a URL.
    ///
    /// - Throws: `ContainerError` with `notInContainer` when the URL lies in no container of the signed-in account.
    static func container(of url: URL) async throws -> UbiquityContainer {
        guard let container = try await UbiquityContainer.containing(url, home: try current) else {
            throw ContainerError(
                .notInContainer,
                "\(url.path) lies in no container of the signed-in account: sign in, or give the URL of an item in a container that this device uses."
            )
        }
        return container
    }
}
