public import Foundation
internal import Synchronization

extension UbiquityContainer {
    /// Those of this process, in order.
    private static let declarations = Mutex<[ContainerIdentifier]>([])

    /// Declares containers that this process uses, behind those that it has declared before.
    ///
    /// - Parameter identifiers: such as `org.example.notes`; one that is declared already keeps its place.
    /// - Throws: `ContainerError` with `invalidName`; none is declared then.
    public static func declare(_ identifiers: String...) throws(ContainerError) {
        var new: [ContainerIdentifier] = []
        for name in identifiers { new.append(try ContainerIdentifier(name)) }
        declarations.withLock { known in
            for identifier in new where !known.contains(identifier) { known.append(identifier) }
        }
    }

    /// The containers that this process has declared, and behind them those in the home's `config.json`.
    ///
    /// - Parameter home: a device home.
    /// - Returns: their identifiers, each once.
    /// - Throws: `ContainerError` where the file cannot be read, or names what is no identifier.
    public static func declared(in home: DeviceHome) throws(ContainerError) -> [ContainerIdentifier] {
        var all = declarations.withLock { $0 }
        for name in try home.configuration.containers ?? [] {
            let identifier = try ContainerIdentifier(name)
            if !all.contains(identifier) { all.append(identifier) }
        }
        return all
    }
}

extension DeviceHome {
    /// The directory of a declared container, made if it is new; `FileManager`'s method of Cocoa's.
    ///
    /// It does not block its caller. For the reason of a nil, ask `UbiquityContainer(_:home:)`.
    ///
    /// - Parameter identifier: a container that is declared, in code (``UbiquityContainer/declare(_:)``) or in `config.json`; nil for the first.
    /// - Returns: its URL; nil while signed out, where it is not declared, and where the containers root or the container is not there.
    public func url(forUbiquityContainerIdentifier identifier: String?) async -> URL? {
        guard let declared = try? UbiquityContainer.declared(in: self),
            let name = identifier ?? declared.first?.description, declared.contains(where: { $0.description == name }),
            let container = try? await UbiquityContainer(name, home: self)
        else { return nil }
        switch container.attachment() {
        case .attached, .detached(.markGone), .detached(.contentGone), .detached(.massDeletion): return container.url
        case .detached: return nil
        }
    }
}
