module foreign

go 1.21
