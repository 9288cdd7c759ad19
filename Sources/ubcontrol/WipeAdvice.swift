internal import StoreInspection
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// The commands for the stores whose content is gone from a container, on each device.
struct WipeAdvice {
    /// The stores of this device.
    let stores: [StoreCondition]
    private let container: ContainerIdentifier

    /// Finds the stores.
    ///
    /// - Parameters:
    ///   - home: the device home.
    ///   - container: the container.
    /// - Throws: `ContainerError`.
    init(home: DeviceHome, container: ContainerIdentifier) throws {
        self.container = container
        stores = StoreCondition.all(of: home, in: try KnownContainer.list(in: home)).filter {
            $0.isContentGone && $0.summary?.container == container.description
        }
    }

    /// The advice for people; empty if no store of this device is concerned.
    var lines: [String] {
        guard !stores.isEmpty else { return [] }
        var lines: [String] = []
        for store in stores {
            lines.append(
                "The store \(store.path) keeps everything. \(store.remedies.isEmpty ? store.hindrance ?? "" : "Its content is gone from the container:")"
            )
            guard store.remedies.count == 2 else { continue }
            lines.append("  to restore this device's data:                \(store.remedies[0])")
            lines.append("  to confirm the removal, on all devices:       \(store.remedies[1])")
        }
        lines.append(
            "Choose one of them on each other device too, once the deletion has arrived there: `ubcontrol container resume \(container)` names its stores with these commands."
        )
        return lines
    }
}
