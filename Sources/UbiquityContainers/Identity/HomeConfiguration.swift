/// `config.json`: what a user has settled for this device; all of it optional.
package struct HomeConfiguration: Codable, Sendable, HomeFormat {
    package var format = HomeFormatVersion.current
    /// The containers that programs may look up without naming them, in order.
    package var containers: [String]?

    /// From when on deletions look like an accident.
    package var massDeletion: MassDeletionLimit?

    package init(containers: [String]? = nil) { self.containers = containers }
}

extension DeviceHome {
    /// What the user has settled.
    ///
    /// - Throws: `ContainerError` where the file cannot be read or understood.
    package var configuration: HomeConfiguration {
        get throws(ContainerError) {
            let files = HomeFiles(home: self)
            return try files.read(HomeConfiguration.self, from: files.configurationFile) ?? HomeConfiguration()
        }
    }
}
